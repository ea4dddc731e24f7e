import type { Config } from '../../config/load.ts'
import { inWordsOf } from '../../process/open-database.ts'
import { counted } from '../../shared/counted.ts'
import { type Inspection, inspectDatabase } from '../../storage/maintenance/inspection.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const ADVICE_FOR_OBSTACLES = "Make one for the service: create database latchkey owner latchkey encoding 'UTF8' template template0"
const CLOCK_TOLERANCE_MS = 5000
const MAIL_LATE_AFTER_MS = 15 * 60_000

/** Reachable, writable, migrated; its clock, its admins, its mails. */
export async function checkDatabase({ database }: Config, now: () => number): Promise<readonly Finding[]> {
  let inspection: Inspection | undefined
  const askedAt = now()
  try {
    inspection = await inWordsOf('DATABASE_URL', database, () => inspectDatabase(database))
  } catch (error) {
    const advice =
      database.kind === 'sqlite'
        ? 'Check the path and who may write there; restore a backup with `latchkey restore` if the file is damaged.'
        : 'Check that the server runs, that this machine may reach it, and the user, password and database in DATABASE_URL.'
    return [fault('database', messageOf(error), advice)]
  }
  if (inspection === undefined) return [warning('database', 'there is none yet', 'Start the service, which makes it: npm start.')]
  return [
    ...checkState(inspection),
    ...checkSchema(inspection),
    ...checkClock(inspection.serverTime, 'the database server', (askedAt + now()) / 2),
    ...checkAdmins(inspection),
    ...checkMails(inspection, now()),
  ]
}

/** Our own words are told as they are. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\s*\n\s*/g, ' ') : reasonOf(error)
}

function checkState({ product, isReadOnly, obstacle, pending }: Inspection): Finding[] {
  if (isReadOnly)
    return [
      fault(
        'database',
        `${product} is read-only: a standby, or a primary that was demoted`,
        'Name the primary in DATABASE_URL, or all hosts with ?target_session_attrs=read-write.',
      ),
    ]
  if (obstacle !== undefined) return [fault('database', `${product} cannot be used: ${obstacle}`, ADVICE_FOR_OBSTACLES)]
  if (pending.length > 0)
    return [
      warning('database', `${product} answers; to be applied: ${pending.join(', ')}`, 'Run `latchkey migrate`, or start the service.'),
    ]
  return [ok('database', `${product} answers, and is up to date`)]
}

const ADVICE_FOR_SCHEMA =
  'Find out who changed the database. Remove what is not part of Latchkey, or restore a backup of before the change.'

/** A trigger or a rule in the database could give a role away, and no rule of the service would notice. */
function checkSchema({ differences, isOurs }: Inspection): Finding[] {
  if (!isOurs) return []
  if (differences === undefined)
    return [
      warning(
        'schema',
        'not compared: the user of the database may not create a schema',
        'Grant create on the database, and run it again.',
      ),
    ]
  if (differences.length === 0) return [ok('schema', 'is what the migrations create')]
  return differences.map(({ message, isHarmless }) => (isHarmless ? warning : fault)('schema', message, ADVICE_FOR_SCHEMA))
}

/** Tokens carry times: where clocks differ, they expire too early or too late. */
export function checkClock(theirs: number | undefined, whose: string, ours: number): Finding[] {
  if (theirs === undefined) return []
  const apartMs = Math.abs(theirs - ours)
  if (apartMs <= CLOCK_TOLERANCE_MS) return [ok('clock', `agrees with ${whose}`)]
  const seconds = Math.round(apartMs / 1000)
  return [
    fault('clock', `${seconds} seconds ${theirs > ours ? 'behind' : 'ahead of'} ${whose}`, 'Set both clocks by NTP, such as with chrony.'),
  ]
}

function checkAdmins({ admins, ableAdmins }: Inspection): Finding[] {
  if (admins === 0)
    return [
      warning(
        'admins',
        'there is none',
        'Make one: latchkey user create --admin --email you@example.com --first-name You --last-name Admin',
      ),
    ]
  if (ableAdmins === 0)
    return [
      fault('admins', `none of ${admins} can log in: banned, or not verified`, 'Use `latchkey user unban` or `latchkey user verify`.'),
    ]
  return [ok('admins', `${ableAdmins} can log in`)]
}

function checkMails({ pendingMails, failedMails, oldestMailAt }: Inspection, now: number): Finding[] {
  const findings: Finding[] = []
  const ageMs = oldestMailAt === undefined ? 0 : now - oldestMailAt
  if (ageMs > MAIL_LATE_AFTER_MS)
    findings.push(
      fault(
        'outbox',
        `${counted(pendingMails, 'mail')} ${pendingMails === 1 ? 'waits' : 'wait'}, the oldest for ${Math.round(ageMs / 60_000)} minutes`,
        'See why with `latchkey mail list`, and that the service runs.',
      ),
    )
  if (failedMails > 0)
    findings.push(
      warning(
        'outbox',
        `${counted(failedMails, 'mail')} could not be delivered`,
        'See why with `latchkey mail list --failed`; then `latchkey mail retry ID` or `discard`.',
      ),
    )
  return findings.length > 0 ? findings : [ok('outbox', pendingMails === 0 ? 'empty' : `${counted(pendingMails, 'mail')} to be sent`)]
}
