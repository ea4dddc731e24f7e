import type { ProviderSettings } from '../../model/provider.ts'
import { Refusal } from '../../model/refusal.ts'
import { createGitHubClient } from './github.ts'
import { type ClientParts, createOidcClient, type ProviderClient } from './oidc.ts'
import { isOutage } from './provider-fetch.ts'

/** The length is that of the specification of OpenID Connect. A lone surrogate would be stored as another character, so that two subjects become one. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/** A client whose errors are refusals. Their reasons name kinds of errors, never what the provider has sent. */
export function createProviderClient(settings: ProviderSettings, parts: ClientParts): ProviderClient {
  const { begin, complete, check } = settings.kind === 'github' ? createGitHubClient(settings, parts) : createOidcClient(settings, parts)
  const refusing =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await work(...args)
      } catch (error) {
        throw new Refusal(isOutage(error) ? 'provider_unavailable' : 'provider_refused', `${settings.name}: ${reasonOf(error)}`)
      }
    }
  const completeChecked: ProviderClient['complete'] = async (flow, answer) => {
    const identity = await complete(flow, answer)
    if (!SUBJECT.test(identity.subject)) throw new Error('the subject is not valid')
    return identity
  }
  return { begin: refusing(begin), complete: refusing(completeChecked), check: refusing(check) }
}

/** The messages of the library are fixed texts; an error of the provider itself has a code from the specification. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const { code, error: named } = error as { readonly code?: unknown; readonly error?: unknown }
  const parts = [error.message, ...[code, named].filter((part) => typeof part === 'string' && /^[\w-]{1,60}$/.test(part))]
  return parts.join(', ').slice(0, 300)
}
