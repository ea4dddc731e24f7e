import type { Config } from '../../config/load.ts'
import { openBlocklist } from '../../security/blocklist.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

/** Checks the list of PASSWORD_BLOCKLIST as a start does: by samples, however large the file is. */
export async function checkBlocklist({ passwordBlocklist, admin }: Config): Promise<readonly Finding[]> {
  if (passwordBlocklist === undefined) return [ok('password', 'PASSWORD_BLOCKLIST is not set; every password of 8 characters is accepted')]
  try {
    const blocklist = await openBlocklist(passwordBlocklist)
    const isListed = admin !== undefined && (await blocklist?.includes(admin.password))
    await blocklist?.close()
    if (!isListed) return [ok('password', `the list of PASSWORD_BLOCKLIST (${passwordBlocklist}) can be searched`)]
    const advice = 'Set another password, and change it on the account of ADMIN_EMAIL if it has this one.'
    return [warning('password', 'ADMIN_PASSWORD is on the list of PASSWORD_BLOCKLIST', advice)]
  } catch (error) {
    const advice = 'Correct the path or replace the file; the service does not start without it. docs/operations.md has the formats.'
    return [failure('password', error instanceof Error ? error.message : String(error), advice)]
  }
}
