import { Refusal } from '../../model/refusal.ts'
import type { Claims, TokenKind, Tokens } from '../../security/token.ts'
import type { AuthMethod, Observer } from '../observer.ts'

/** Reads a token of one kind, and counts a refusal. */
export function readToken(tokens: Tokens, observer: Observer, token: string, kind: TokenKind, method: AuthMethod): Claims {
  try {
    return tokens.read(token, kind)
  } catch (error) {
    if (error instanceof Refusal) observer.authFailure(method, error.code === 'token_expired' ? 'expired_token' : 'invalid_token')
    throw error
  }
}
