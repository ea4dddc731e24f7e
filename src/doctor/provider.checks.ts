import type { Config } from '../config/load.ts'
import { Refusal } from '../model/refusal.ts'
import { isIssuerOf } from '../security/providers/issuer.ts'
import { createProviderClient } from '../security/providers/provider-client.ts'
import { counted } from '../shared/text.ts'
import type { Inspection } from '../storage/maintenance/inspection.ts'
import { about, type Finding } from './finding.ts'

const PROVIDERS = about('providers')

/** Asks each provider for its addresses. The service starts without them, but nobody can sign in with one that does not answer. */
export async function checkProviders({ providers }: Pick<Config, 'providers'>, now: () => number): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    providers.map(async (provider) => {
      try {
        await createProviderClient(provider, { fetch: globalThis.fetch, now }).check()
        return PROVIDERS.ok(`${provider.name} answers (${provider.issuer})`)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return PROVIDERS.warning(
          `nobody can sign in with ${error.message}`,
          `Check that this machine reaches ${provider.issuer}, and that it is the issuer which the documentation of the provider names.`,
        )
      }
    }),
  )
  return findings.flat()
}

/** Accounts that a provider opened which the settings no longer name, or which has another issuer now. */
export function checkConnected({ providers }: Pick<Config, 'providers'>, connected: Inspection['providers']): readonly Finding[] {
  const lost = connected.filter(
    ({ provider, issuer }) => !providers.some((named) => named.name === provider && isIssuerOf(named.issuer, issuer)),
  )
  return [...Map.groupBy(lost, ({ provider }) => provider)].flatMap(([provider, identities]) => {
    const count = identities.reduce((sum, identity) => sum + Number(identity.count), 0)
    const isNamed = providers.some(({ name }) => name === provider)
    const reason = isNamed ? 'whose issuer was another one when they were connected' : 'which SIGN_IN_PROVIDERS does not name'
    const fix = isNamed ? 'Set its former issuer again' : 'Add it again'
    return PROVIDERS.warning(
      `${counted(count, 'account')} cannot be opened with ${provider}, ${reason}`,
      `${fix}, or tell their owners to request a password reset.`,
    )
  })
}
