import { Refusal } from '../../model/refusal.ts'
import type { Claims, TokenKind, Tokens } from '../../security/token.ts'
import type { AuthMethod, Observer } from '../operations/observer.ts'

/** Reads a token that must be of one kind. A refusal is counted. */
export function readToken(tokens: Tokens, observer: Observer, token: string, kind: TokenKind, method: AuthMethod): Claims {
  try {
    return tokens.read(token, kind)
  } catch (error) {
    if (error instanceof Refusal) observer.authFailure(method, error.code === 'token_expired' ? 'expired_token' : 'invalid_token')
    throw error
  }
}
