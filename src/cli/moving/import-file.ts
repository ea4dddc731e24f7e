import type { CheckOptions } from '../../domain/moving/check-user.ts'
import { type BatchOutcome, createImport, type Import, type ImportOptions } from '../../domain/moving/import.service.ts'
import type { ImportedUser } from '../../domain/moving/imported-user.ts'
import type { Passwords } from '../../security/password.ts'
import type { Database } from '../../storage/database.ts'
import { rehearse } from '../bulk/rehearsal.ts'
import { createRateProgress } from '../terminal/progress.ts'
import { OPERATOR, partsOf } from '../with-database.ts'
import { checkRecord } from './check-record.ts'
import { readRecords } from './read-file.ts'
import type { FileRecord } from './records.ts'
import type { Rejects } from './rejects.ts'
import type { Source } from './sources/source.ts'

export type Counts = {
  readonly read: number
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly rejected: number
}

export type ImportRun = {
  readonly file: string
  readonly source: Source
  readonly check: CheckOptions
  readonly options: ImportOptions
  readonly isDryRun: boolean
  readonly total: number
  readonly rejects: Rejects
  readonly passwords: Passwords
}

type Entry = { readonly user: ImportedUser; readonly record: FileRecord }

/** One transaction each: small enough to let other writes through, large enough to cost little by itself. */
const BATCH_SIZE = 500

/** Imports the users of a file in batches. While the database writes one, the next one is read. */
export async function importFile(db: Database, run: ImportRun): Promise<Counts> {
  const counts = { read: 0, created: 0, updated: 0, skipped: 0, rejected: 0 }
  const progress = createRateProgress(run.isDryRun ? 'checking' : 'importing')
  const write = createWriter(db, run)
  const batch = createBatch()
  let writing: Promise<void> = Promise.resolve()

  function reject(record: FileRecord, reason: string): void {
    counts.rejected++
    progress.clear()
    run.rejects.add(record, reason)
  }

  async function writeEntries(entries: readonly Entry[]): Promise<void> {
    const outcome = await write(entries.map(({ user }) => user))
    counts.created += outcome.created
    counts.updated += outcome.updated
    counts.skipped += outcome.skipped
    const records = new Map(entries.map(({ user, record }) => [user.line, record]))
    for (const { line, reason } of outcome.rejected) reject(records.get(line) ?? { line, value: {} }, reason)
    progress.update(counts.read, run.total)
  }

  async function flush(): Promise<void> {
    const entries = batch.take()
    await writing
    writing = entries.length === 0 ? Promise.resolve() : writeEntries(entries)
    // Reported by the next flush, which waits for it.
    writing.catch(() => undefined)
  }

  for await (const records of readRecords(run.file, run.source)) {
    for (const record of records) {
      const checked = checkRecord(record, run.source, run.check)
      if (checked === undefined) continue
      counts.read++
      if ('reason' in checked) reject(record, checked.reason)
      else {
        if (!batch.accepts(checked.user)) await flush()
        batch.add({ user: checked.user, record })
      }
    }
  }
  await flush()
  await writing
  progress.clear()
  return counts
}

/** Users that can be written by one statement: no two with the same address, or with a key in common. */
function createBatch() {
  let entries: Entry[] = []
  let names = new Set<string>()
  const namesOf = ({ emailKey, keys }: ImportedUser) => [emailKey, ...keys.flatMap(({ id, keyHash }) => [id, keyHash])]
  return {
    accepts: (user: ImportedUser) => entries.length < BATCH_SIZE && !namesOf(user).some((name) => names.has(name)),
    add(entry: Entry): void {
      entries.push(entry)
      for (const name of namesOf(entry.user)) names.add(name)
    },
    take(): readonly Entry[] {
      const taken = entries
      entries = []
      names = new Set()
      return taken
    },
  }
}

/** Writes a batch, or rehearses it. A rehearsal leaves nothing behind, so it remembers the addresses itself. */
function createWriter(db: Database, run: ImportRun): (users: readonly ImportedUser[]) => Promise<BatchOutcome> {
  const importInto = (used: Database) => createImport(partsOf(used), OPERATOR.origin, run.options)
  if (!run.isDryRun) {
    const real = importInto(db)
    const begun = real.begin()
    return async (users) => {
      await begun
      return real.write(await hashPasswords(real, users, run))
    }
  }
  const seen = new Set<string>()
  return async (users) => {
    const repeated = users.filter(({ emailKey }) => seen.has(emailKey))
    const fresh = users.filter(({ emailKey }) => !seen.has(emailKey))
    for (const { emailKey } of users) seen.add(emailKey)
    const outcome = await rehearse(db, (rehearsed) => importInto(rehearsed).write(fresh))
    return merge(outcome, repeated, run.options)
  }
}

function merge(outcome: BatchOutcome | undefined, repeated: readonly ImportedUser[], { onConflict }: ImportOptions): BatchOutcome {
  const { created, updated, skipped, rejected } = outcome ?? { created: 0, updated: 0, skipped: 0, rejected: [] }
  const conflicts = repeated.map(({ line }) => ({ line, reason: 'email: an account with this address exists already' }))
  return {
    created,
    updated: updated + (onConflict === 'update' ? repeated.length : 0),
    skipped: skipped + (onConflict === 'skip' ? repeated.length : 0),
    rejected: onConflict === 'fail' ? [...rejected, ...conflicts] : rejected,
  }
}

/** Replaces passwords by their hashes. Hashing is slow: nothing is hashed for an account that exists and stays as it is. */
async function hashPasswords(target: Import, users: readonly ImportedUser[], { options, passwords }: ImportRun): Promise<ImportedUser[]> {
  const isPlain = users.some(({ password }) => password !== undefined)
  const existing: ReadonlySet<string> = isPlain && options.onConflict !== 'update' ? await target.existing(users) : new Set()
  return Promise.all(
    users.map(async (user) => {
      if (user.password === undefined || existing.has(user.emailKey)) return user
      return { ...user, passwordHash: await passwords.hash(user.password), password: undefined }
    }),
  )
}
