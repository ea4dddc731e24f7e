import { dayOf } from '../../model/usage.ts'
import { MAX_FOREIGN_KINDS, MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import { reportingOnce } from '../../shared/errors.ts'
import type { Database } from '../../storage/database.ts'
import { listForeignKinds, renameForeignKind } from '../../storage/repositories/import/import.repository.ts'
import {
  deleteEmailChanges,
  deleteEndedChallenges,
  deleteEndedHandOffs,
  deleteEndedInvitations,
  deleteEndedSecrets,
  deleteEndedSessions,
  deleteEndedSignIns,
  deleteFreeLimits,
  deleteMailRecords,
  deleteUsedChallenges,
} from '../../storage/repositories/operations/expiry.repository.ts'
import { deleteActivityBefore } from '../../storage/repositories/operations/operations.repository.ts'
import { deleteUsageBefore } from '../../storage/repositories/plans/usage.repository.ts'
import { deleteEndedWindows } from '../../storage/repositories/plans/window.repository.ts'
import { USAGE_DAYS } from '../plans/usage.service.ts'
import { ACTIVITY_KEPT_MS } from './activity.ts'

export type Housekeeping = ReturnType<typeof createHousekeeping>

// A flood from many addresses leaves a row for each of them.
const INTERVAL_MS = 10 * 60_000
const BATCH_SIZE = 500
// The mail is tried for a day, and its link works for another one.
const EMAIL_CHANGES_KEPT_MS = 3 * 24 * 60 * 60_000
// Beyond their end, for processes whose clocks differ.
const USED_CHALLENGES_KEPT_MS = 10 * 60_000
const MAIL_HISTORY_KEPT_MS = 30 * 24 * 60 * 60_000
type DeleteBatch = (db: Database, now: number, limit: number) => Promise<number>
const EXPIRED: readonly DeleteBatch[] = [
  deleteEndedSessions,
  deleteEndedSecrets,
  deleteEndedChallenges,
  (db, now, limit) => deleteUsedChallenges(db, now - USED_CHALLENGES_KEPT_MS, limit),
  deleteEndedSignIns,
  deleteEndedHandOffs,
  deleteEndedInvitations,
  deleteEndedWindows,
  (db, now, limit) => deleteUsageBefore(db, dayOf(now) - USAGE_DAYS + 1, limit),
  (db, now, limit) => deleteEmailChanges(db, now - EMAIL_CHANGES_KEPT_MS, limit),
  (db, now, limit) => deleteMailRecords(db, now - MAIL_HISTORY_KEPT_MS, limit),
  (db, now, limit) => deleteFreeLimits(db, now * 1000, limit),
]

/**
 * Deletes what has expired and what is older than it is kept, rounds old kinds of foreign hashes, and does other periodic work, every ten
 * minutes. After an error, the next run does what is left.
 */
export function createHousekeeping(
  db: Database,
  now: () => number,
  onFailure: (error: unknown) => void,
  otherWork: (isStopped: () => boolean) => Promise<void> = async () => undefined,
) {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function run(): Promise<void> {
    // Small batches keep other writes from waiting long.
    for (const deleteBatch of EXPIRED) while (!isStopped && (await deleteBatch(db, now(), BATCH_SIZE)) === BATCH_SIZE);
    await roundForeignKinds(db, () => isStopped)
    if (isStopped) return
    await deleteActivityBefore(db, now() - ACTIVITY_KEPT_MS)
    await otherWork(() => isStopped)
  }

  return {
    run,
    start(): void {
      const runSafely = reportingOnce(run, onFailure)
      void runSafely()
      timer = setInterval(() => void runSafely(), INTERVAL_MS).unref()
    },
    stop(): void {
      isStopped = true
      clearInterval(timer)
    },
  }
}

/**
 * Rounds the kinds of foreign hashes that release 0.8.0 has stored with their exact costs, if there are more than a login should list. A few
 * are rounded whenever they are read, so that the accounts of a usual import are not all written again.
 */
async function roundForeignKinds(db: Database, isStopped: () => boolean): Promise<void> {
  while (!isStopped()) {
    const kinds = await listForeignKinds(db, MAX_LISTED_KINDS)
    if (kinds.length <= MAX_FOREIGN_KINDS) return
    const { roundedKind } = await import('../../security/foreign/kinds.ts')
    const unrounded = kinds.filter((kind) => roundedKind(kind) !== kind)
    for (const kind of unrounded) while (!isStopped() && (await renameForeignKind(db, kind, roundedKind(kind), BATCH_SIZE)) === BATCH_SIZE);
    if (unrounded.length === 0) return
  }
}
