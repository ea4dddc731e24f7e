import type { Config } from '../config/load.ts'
import { explainDatabaseErrors } from '../process/open-database.ts'
import { explain } from '../process/startup-errors.ts'
import { COMMAND } from '../shared/program.ts'
import { counted } from '../shared/text.ts'
import { type Inspection, inspectDatabase } from '../storage/maintenance/inspection.ts'
import { about, type Finding, inTime } from './finding.ts'
import { checkMails, checkWebhooks } from './outbox.checks.ts'
import { checkForeignHashes } from './password.checks.ts'
import { checkAudit, checkRotation } from './secret.checks.ts'
import { checkConnected, checkFactors } from './sign-in.checks.ts'

const DATABASE = about('database')
const SCHEMA = about('schema')
const CLOCK = about('clock')
const ADMINS = about('admins')
const ADVICE_FOR_OBSTACLES = "Create one for the service: create database latchkey owner latchkey encoding 'UTF8' template template0"
const CLOCK_TOLERANCE_MS = 5000
const MEASURING_DEADLINE_MS = 10_000

/** Checks that the database is reachable, writable and migrated, and its clock, admins, mails and webhooks. */
export async function checkDatabase(config: Config, now: () => number): Promise<readonly Finding[]> {
  const { database } = config
  let inspection: Inspection | undefined
  const startedAt = now()
  try {
    inspection = await explainDatabaseErrors('DATABASE_URL', database, () => inspectDatabase(database))
  } catch (error) {
    const advice =
      database.kind === 'sqlite'
        ? `Check the path and its permissions. If the file is damaged, restore a backup: ${COMMAND} restore FILE`
        : 'Check that the server runs, that this machine may reach it, and the user, password and database in DATABASE_URL.'
    return DATABASE.failure(explain(error).join(' '), advice)
  }
  if (inspection === undefined) return DATABASE.warning('there is no database yet', `Start the service, which creates it: ${COMMAND} serve`)
  const { foreignKinds } = inspection
  return [
    ...checkState(inspection),
    ...checkSchema(inspection),
    ...checkClock(inspection.serverTime, 'the database server', (startedAt + now()) / 2),
    ...checkRotation(config, inspection, now()),
    ...checkAdmins(inspection),
    ...checkFactors(config, inspection),
    ...checkConnected(config, inspection.providers),
    ...checkAudit(config, inspection, now()),
    ...checkMails(inspection, now()),
    ...checkWebhooks(config, inspection, now()),
    ...(await inTime('password', MEASURING_DEADLINE_MS, () => checkForeignHashes(foreignKinds))),
  ]
}

function checkState({ product, isReadOnly, obstacle, pending, newer }: Inspection): Finding[] {
  if (isReadOnly)
    return DATABASE.failure(
      `${product} is read-only: a standby, or a primary that was demoted`,
      'Name the primary in DATABASE_URL, or all hosts with ?target_session_attrs=read-write.',
    )
  if (obstacle !== undefined) return DATABASE.failure(`${product} cannot be used: ${obstacle}`, ADVICE_FOR_OBSTACLES)
  if (pending.length > 0)
    return DATABASE.warning(
      `${product} answers; migrations are pending: ${pending.join(', ')}`,
      `Start the service, or run: ${COMMAND} migrate`,
    )
  if (newer.length > 0)
    return DATABASE.warning(
      `${product} answers; a newer version of Latchkey has applied ${newer.join(', ')}, and this version can use the database`,
      'Install the newer version when you are ready. Until then, nothing has to be done.',
    )
  return DATABASE.ok(`${product} answers and is up to date`)
}

const ADVICE_FOR_SCHEMA =
  'Find out who changed the database. Remove what is not part of Latchkey, or restore a backup from before the change.'
const ADVICE_FOR_NEWER_SCHEMA =
  'Run the `doctor` of the newer version, which knows its own schema. If you have not installed a newer version, find out who changed the database.'

/** A planted trigger could grant a role, and no rule of the service would notice. */
function checkSchema({ differences, isOurs, newer }: Inspection): Finding[] {
  if (!isOurs) return []
  if (differences === undefined)
    return SCHEMA.warning(
      'could not be compared: the database user may not create a schema',
      'Grant CREATE on the database, and run the command again.',
    )
  if (newer.length > 0)
    return [
      ...SCHEMA.warning('could not be compared in full: it is newer than this version', 'Run the `doctor` of the newer version.'),
      // A newer version may add columns and indexes. Code is an error even so: the entry of a newer migration can be forged.
      ...differences.flatMap(({ message, isCode }) => SCHEMA[isCode ? 'failure' : 'warning'](message, ADVICE_FOR_NEWER_SCHEMA)),
    ]
  if (differences.length === 0) return SCHEMA.ok('matches the migrations')
  return differences.flatMap(({ message, isHarmless }) => SCHEMA[isHarmless ? 'warning' : 'failure'](message, ADVICE_FOR_SCHEMA))
}

/** Tokens carry times: with differing clocks they expire too early or too late. */
export function checkClock(theirs: number | undefined, whose: string, ours: number): Finding[] {
  if (theirs === undefined) return []
  const apartMs = Math.abs(theirs - ours)
  if (apartMs <= CLOCK_TOLERANCE_MS) return CLOCK.ok(`agrees with ${whose}`)
  const seconds = Math.round(apartMs / 1000)
  return CLOCK.failure(
    `${seconds} seconds ${theirs > ours ? 'behind' : 'ahead of'} ${whose}`,
    'Synchronise both clocks with NTP, such as with chrony.',
  )
}

function checkAdmins({ admins, ableAdmins }: Inspection): Finding[] {
  if (admins === 0)
    return ADMINS.warning(
      'there is no admin',
      `Create one: ${COMMAND} user create --admin --email you@example.com --first-name You --last-name Admin`,
    )
  if (ableAdmins === 0)
    return ADMINS.failure(
      `none of ${counted(admins, 'admin')} can log in: banned, or not verified`,
      `Use: ${COMMAND} user unban USER, or: ${COMMAND} user verify USER`,
    )
  return ADMINS.ok(`${counted(ableAdmins, 'admin')} can log in`)
}
