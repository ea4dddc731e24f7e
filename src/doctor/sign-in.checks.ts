import type { Config } from '../config/load.ts'
import { isIssuerOf } from '../model/provider.ts'
import { Refusal } from '../model/refusal.ts'
import { fingerprints } from '../security/derived-keys.ts'
import { createProviderClient } from '../security/providers/provider-client.ts'
import { isLoopbackHostHeader } from '../shared/addresses.ts'
import { COMMAND } from '../shared/program.ts'
import { counted } from '../shared/text.ts'
import type { Inspection } from '../storage/maintenance/inspection.ts'
import { about, type Finding } from './finding.ts'
import { readableSecrets } from './secret.checks.ts'

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

const FACTOR = about('second factor')

type Factors = Pick<Inspection, 'totpSeals' | 'passwordOnlyAdmins' | 'passkeys' | 'pending'>

/** Checks codes that cannot be compared, passkeys that no browser offers, and admins who have only a password. */
export function checkFactors(config: Config, factors: Factors): Finding[] {
  if (factors.pending.length > 0) return []
  const problems = [...checkSeals(config, factors), ...checkPasskeys(config, factors), ...checkAdmins(config, factors)]
  return problems.length === 0 ? FACTOR.ok(`SECOND_FACTOR is ${config.secondFactor}`) : problems
}

function checkSeals(config: Config, { totpSeals }: Factors): Finding[] {
  const secrets = readableSecrets(config)
  const known = secrets && fingerprints(secrets)
  return totpSeals
    .filter(({ sealedWith }) => known !== undefined && !known.includes(sealedWith))
    .flatMap(({ count, users }) =>
      FACTOR.failure(
        `no secret opens the codes of ${named('account', count, users)}: every code is refused`,
        `Add the former SECRET_KEY to SECRET_KEY_FALLBACKS and restart. If it is lost, use: ${COMMAND} user reset-second-factor USER`,
      ),
    )
}

function checkPasskeys({ relyingParty, baseUrl }: Config, { passkeys }: Factors): Finding[] {
  if (relyingParty !== undefined || passkeys === 0) return []
  return FACTOR.warning(
    `${counted(passkeys, 'passkey')} cannot be used: BASE_URL is ${baseUrl}, and browsers accept passkeys only for a host name with https`,
    'Set BASE_URL to the https address of the service. Passkeys belong to the host that it had when they were created.',
  )
}

function checkAdmins({ baseUrl }: Config, { passwordOnlyAdmins: { count, users } }: Factors): Finding[] {
  if (count === 0) return []
  const message = `${named('admin', count, users)} ${count === 1 ? 'has' : 'have'} no second factor`
  if (isLoopbackHostHeader(new URL(baseUrl).host)) return FACTOR.ok(message)
  return FACTOR.warning(message, 'Have them set one up at /account/security. With SECOND_FACTOR=admins, the role works only with one.')
}

/** Such as `3 admins (user 1, 5, 8)`. */
function named(noun: string, count: number, users: string): string {
  return `${counted(count, noun)} (user ${users}${count > users.split(', ').length ? ' and more' : ''})`
}
