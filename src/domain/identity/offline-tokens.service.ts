import { randomUUID } from 'node:crypto'
import type { Actor, Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { findSessionExpiry } from '../../storage/repositories/sessions/session.repository.ts'
import type { DomainParts } from '../parts.ts'
import { requireCaller } from '../sessions/callers.ts'
import { scopeString } from './scopes.ts'
import type { SigningKeys } from './signing-keys.ts'

export type OfflineTokenRequest = {
  /** The URL of this service, which verifiers compare. */
  readonly issuer: string
  /** The service that the token is for. */
  readonly audience: string
  readonly lifetimeSeconds: number
}

export type OfflineToken = { readonly token: string; readonly expiresInSeconds: number }

export type OfflineTokens = {
  /** Exchanges the credential of the caller for a short-lived token that other services verify without asking. */
  issue(actor: Actor, request: OfflineTokenRequest): Promise<OfflineToken>
}

type Parts = Pick<DomainParts, 'reads' | 'now'> & { readonly signingKeys: SigningKeys }

export function createOfflineTokens({ reads, now, signingKeys }: Parts): OfflineTokens {
  /** When the session or the key ends, in whole seconds; a token never outlives it. */
  async function expiryOf({ sessionId, key, expiresAt }: Caller): Promise<number> {
    if (key !== undefined) return expiresAt === undefined ? Number.POSITIVE_INFINITY : Math.floor(expiresAt / 1000)
    const endsAt = sessionId === undefined ? undefined : await findSessionExpiry(reads, sessionId)
    if (endsAt === undefined) throw new Refusal('token_invalid', 'the session has ended since authentication')
    return Math.floor(endsAt / 1000)
  }

  return {
    async issue({ caller, origin }, { issuer, audience, lifetimeSeconds }) {
      // The body may arrive long after the headers. A caller who was banned meanwhile gets no token.
      const user = await requireCaller(reads, caller, now())
      const expiry = await expiryOf(caller)
      const sign = await signingKeys.signer(origin)
      const iat = Math.floor(now() / 1000)
      const exp = Math.min(iat + lifetimeSeconds, expiry)
      if (exp <= iat) throw new Refusal(caller.key === undefined ? 'token_expired' : 'key_expired', 'less than a second is left')
      const token = sign({
        iss: issuer,
        sub: String(user.id),
        aud: audience,
        iat,
        exp,
        jti: randomUUID(),
        email: user.email,
        role: user.role,
        method: caller.key === undefined ? 'session' : 'api_key',
        ...(caller.key && { scope: scopeString(caller.key.scopes) }),
      })
      return { token, expiresInSeconds: exp - iat }
    },
  }
}
