import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { isWellFormedApiKey } from '../../security/api-key-secret.ts'
import { requireCaller } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import { NO_OBSERVER } from '../operations/observer.ts'
import { createAuthentication } from './authentication.service.ts'
import { requireFactor, type SecondFactorRule } from './requirements.ts'

/** A credential that works at this moment, and when it was issued if that is known. */
export type ActiveCredential = { readonly owner: Caller; readonly issuedAt: number | undefined }

export type Introspection = ReturnType<typeof createIntrospection>

type Parts = Pick<DomainParts, 'reads' | 'tokens' | 'now'> & { readonly rule: SecondFactorRule }

export function createIntrospection({ reads, tokens, now, rule }: Parts) {
  // The rules of authentication without its side effects: a question about a credential is neither a use nor a failed login of its owner.
  const ignore = () => undefined
  const { byKey, byToken } = createAuthentication({
    reads,
    tokens,
    now,
    observer: NO_OBSERVER,
    recordKeyUse: ignore,
    noteSessionUse: ignore,
  })

  async function find(credential: string): Promise<ActiveCredential> {
    if (isWellFormedApiKey(credential)) return { owner: await byKey(credential), issuedAt: undefined }
    return { owner: await byToken(credential), issuedAt: tokens.read(credential, 'access').issuedAt }
  }

  return {
    /** Returns undefined for everything that is not an access token or an API key that works at this moment. */
    async introspect(caller: Caller, credential: string): Promise<ActiveCredential | undefined> {
      // The body may arrive long after the headers. A caller who was banned meanwhile learns nothing.
      await requireCaller(reads, caller, now())
      try {
        const found = await find(credential)
        // Otherwise a service that asks here would accept what /auth/check refuses.
        requireFactor(rule, found.owner, { asAdmin: false })
        return found
      } catch (error) {
        if (error instanceof Refusal && error.code !== 'unavailable') return undefined
        throw error
      }
    },
  }
}
