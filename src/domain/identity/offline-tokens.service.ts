import { randomUUID } from 'node:crypto'
import type { Actor, Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User } from '../../model/user.ts'
import { findSessionExpiry } from '../../storage/repositories/sessions/session.repository.ts'
import { requireCaller, requireKey } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import { scopeString } from './requirements.ts'
import type { SigningKeys } from './signing-keys.ts'

type OfflineTokenRequest = {
  /** The URL of this service, which verifiers compare. */
  readonly issuer: string
  /** The service that the token is for. */
  readonly audience: string
  readonly lifetimeSeconds: number
}

export type OfflineTokens = ReturnType<typeof createOfflineTokens>

type Parts = Pick<DomainParts, 'reads' | 'now'> & { readonly signingKeys: SigningKeys }

export function createOfflineTokens({ reads, now, signingKeys }: Parts) {
  /**
   * Reads the caller again, because the body may arrive long after the headers: a caller who was banned meanwhile gets no token.
   * Returns the user, and when the session or the key ends.
   */
  async function current(caller: Caller): Promise<{ readonly user: User; readonly endsAt: number }> {
    if (caller.key !== undefined) {
      const { user, expiresAt = Number.POSITIVE_INFINITY } = await requireKey(reads, caller.key, now())
      return { user, endsAt: expiresAt }
    }
    const user = await requireCaller(reads, caller, now())
    const endsAt = caller.sessionId === undefined ? undefined : await findSessionExpiry(reads, caller.sessionId)
    if (endsAt === undefined) throw new Refusal('token_invalid', 'the session has ended since authentication')
    return { user, endsAt }
  }

  return {
    /** Exchanges the credential of the caller for a short-lived token that other services verify without asking. */
    async issue({ caller, origin }: Actor, { issuer, audience, lifetimeSeconds }: OfflineTokenRequest) {
      const { user, endsAt } = await current(caller)
      const sign = await signingKeys.signer(origin)
      const iat = Math.floor(now() / 1000)
      const exp = Math.min(iat + lifetimeSeconds, Math.floor(endsAt / 1000))
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
