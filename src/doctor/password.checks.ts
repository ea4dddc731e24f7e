import type { Config } from '../config/load.ts'
import { isListed } from '../security/blocklist.ts'
import { type MeasureFamilies, measureInThread } from '../security/foreign/equal-work.ts'
import { describeCost, parseKind } from '../security/foreign/kinds.ts'
import { boundedWork, isCovered, loginMs, MAX_LOGIN_MS, OWN_FAMILY, rounded } from '../security/foreign/login-work.ts'
import { COMMAND } from '../shared/program.ts'
import { about, type Finding } from './finding.ts'

const PASSWORD = about('password')

/** Checks the list of PASSWORD_BLOCKLIST as a start does: by samples, however large the file is. */
export async function checkBlocklist({ passwordBlocklist, admin }: Config): Promise<readonly Finding[]> {
  if (passwordBlocklist === undefined) return PASSWORD.ok('PASSWORD_BLOCKLIST is not set; every password of 8 characters is accepted')
  try {
    if (!(await isListed(passwordBlocklist, admin?.password)))
      return PASSWORD.ok(`the list of PASSWORD_BLOCKLIST (${passwordBlocklist}) can be searched`)
    const advice = 'Set another password, and change it on the account of ADMIN_EMAIL if it has this one.'
    return PASSWORD.warning('ADMIN_PASSWORD is on the list of PASSWORD_BLOCKLIST', advice)
  } catch (error) {
    const advice = 'Correct the path or replace the file; the service does not start without it. docs/settings.md has the formats.'
    return PASSWORD.failure(error instanceof Error ? error.message : String(error), advice)
  }
}

/** Measures what the imported hashes in the database make each login cost on this machine, which may be slower than that of the import. */
export async function checkForeignHashes(
  kinds: readonly string[],
  measure: MeasureFamilies = measureInThread,
): Promise<readonly Finding[]> {
  const work = boundedWork(kinds, () => 0)
  if (work.size === 0) return []
  const measured = await measure([...work.keys(), OWN_FAMILY])
  const unitMs = (family: string) => measured.get(family) ?? 0
  const ms = loginMs(work, unitMs)
  if (ms <= MAX_LOGIN_MS) return PASSWORD.ok(`with the imported hashes, a login costs ${rounded(ms)} of one core`)
  const parts = [...work].map(([family, amount]) => `${describeCost({ family, amount })} takes ${rounded(amount * unitMs(family))}`)
  const cost = `the imported hashes cost each login ${rounded(ms)} of one core on this machine, and ${MAX_LOGIN_MS} ms are acceptable: ${parts.join(', ')}`
  const advice = `have these users reset their passwords (POST /forgot-password/), set others with: ${COMMAND} user set-password USER, or use a faster machine.`
  const computed = boundedWork(kinds, unitMs)
  const excluded = kinds.map(parseKind).filter((found) => !isCovered(computed, found))
  if (excluded.length === 0) return PASSWORD.warning(cost, `Logins are slow until all such users have logged in. To end that, ${advice}`)
  const names = [...new Set(excluded.map(describeCost))].join(', ')
  return PASSWORD.warning(`${cost}; the service does not compute ${names}, so that nobody can log in with such a hash`, `Either ${advice}`)
}
