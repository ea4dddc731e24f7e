import type { CheckOptions } from '../../domain/import/check-user.ts'
import { type BatchOutcome, createImport, type Import, type ImportOptions } from '../../domain/import/import.service.ts'
import type { ImportedUser } from '../../domain/import/imported-user.ts'
import type { Blocklist } from '../../security/blocklist.ts'
import type { Passwords } from '../../security/password.ts'
import type { Services } from '../../services.ts'
import { createRecordStore } from '../../storage/maintenance/record-store.ts'
import { createProgress } from '../terminal/progress.ts'
import { explainRefusal } from '../terminal/refusals.ts'
import { OPERATOR, type Rehearse } from '../with-services.ts'
import { createBatch, createWriteQueue, namesOf, UPDATE_BATCH_SIZE } from './batch.ts'
import { checkPlaintext, checkRecord } from './check-file.ts'
import { readRecords } from './read-file.ts'
import type { FileRecord } from './records.ts'
import type { createRejects } from './rejects.ts'
import type { Source } from './sources/source.ts'

export type Counts = Readonly<Record<'read' | keyof BatchOutcome, number>>

type ImportRun = WriterOptions & {
  readonly file: string
  readonly source: Source
  readonly check: CheckOptions
  readonly total: number
  readonly rejects: Pick<ReturnType<typeof createRejects>, 'add'>
  readonly blocklist: Blocklist | undefined
}

type Entry = { readonly user: ImportedUser; readonly record: FileRecord }

/** Imports the users of a file in batches. While the database writes some, the next one is read. An error says what state it leaves. */
export async function importFile({ services, rehearse }: ImportTarget, run: ImportRun): Promise<Counts> {
  const counts = { read: 0, created: 0, updated: 0, skipped: 0, rejected: 0 }
  using progress = createProgress(run.isDryRun ? 'checking' : 'importing', { showsRate: true })
  const writer = run.isDryRun ? createRehearsal(rehearse, run) : createRealWriter(services, run)
  const batch = createBatch<Entry>(run.options.onConflict === 'update' ? UPDATE_BATCH_SIZE : undefined)
  const queue = createWriteQueue(writer.parallel)
  let mayHaveWritten = false

  function reject(record: FileRecord, reason: string): void {
    counts.rejected++
    progress.clear()
    run.rejects.add(record, reason)
  }

  async function writeEntries(entries: readonly Entry[]): Promise<void> {
    mayHaveWritten = !run.isDryRun
    const outcome = await writer.write(entries.map(({ user }) => user))
    counts.created += outcome.created.length
    counts.updated += outcome.updated.length
    counts.skipped += outcome.skipped.length
    // By address, which no two users of a batch have in common: a whole file may be one line.
    const records = new Map(entries.map(({ user, record }) => [user.emailKey, record]))
    for (const { user, reason } of outcome.rejected) reject(records.get(user.emailKey) ?? { line: user.line, value: {} }, reason)
    progress.update(counts.read, run.total)
  }

  async function flush(): Promise<void> {
    const { entries, names } = batch.take()
    if (entries.length > 0) await queue.add(names, () => writeEntries(entries))
  }

  async function receive(record: FileRecord): Promise<void> {
    const { source, check, blocklist } = run
    let checked = checkRecord(record, source, check)
    if (checked === undefined) return
    counts.read++
    if (blocklist !== undefined && 'user' in checked) checked = await checkPlaintext(checked.user, blocklist, check)
    if ('reason' in checked) return reject(record, checked.reason)
    const { user } = checked
    if (!batch.accepts(user)) await flush()
    batch.add(user, { user, record })
  }

  try {
    for await (const records of readRecords(run.file, run.source)) for (const record of records) await receive(record)
    await flush()
    await queue.end()
  } catch (error) {
    await queue.end().catch(() => undefined)
    // A batch that failed may have been committed all the same.
    const state = mayHaveWritten ? 'the import is incomplete: fix the problem, then run the same command again' : 'nothing was imported'
    throw new Error(`${explainRefusal(error).join('; ')}; ${state}`, { cause: error })
  } finally {
    writer.close?.()
  }
  return counts
}

type ImportWriter = {
  /** How many batches may be written at a time, if they have nothing in common. */
  readonly parallel: number
  write(users: readonly ImportedUser[]): Promise<BatchOutcome>
  close?(): void
}

type WriterOptions = { readonly options: ImportOptions; readonly isDryRun: boolean; readonly passwords: Passwords }

/** Where users are imported, or where that is rehearsed. */
type ImportTarget = { readonly services: Services; readonly rehearse: Rehearse }

function createRealWriter(services: Services, run: WriterOptions): ImportWriter {
  const target = createImport(services, OPERATOR.origin, run.options)
  const begun = target.begin()
  // Thrown by the first batch.
  begun.catch(() => undefined)
  return {
    // PostgreSQL uses one processor per connection. Ids that are kept can collide, and the sequence of new ones is set after each batch.
    parallel: run.options.keepIds ? 1 : 2,
    async write(users) {
      await begun
      return target.write(await hashPasswords(target, users, run))
    },
  }
}

/**
 * Rehearses each batch in a transaction that is rolled back. Users of earlier batches that have something in common with this one are
 * written into the transaction first, so that the rules see what they would see in the import. One transaction for the whole file would
 * need no record of them, but would keep everybody else from writing until its end.
 */
function createRehearsal(rehearse: Rehearse, { options }: WriterOptions): ImportWriter {
  const earlier = createRecordStore<ImportedUser>()
  const allNames = (user: ImportedUser) => (options.keepIds ? [...namesOf(user), `id ${user.id}`] : namesOf(user))
  return {
    // Each sees what the ones before it would have left.
    parallel: 1,
    async write(users) {
      const related = earlier.find(users.flatMap(allNames))
      const rehearsed = await rehearse(async (services) => {
        const target = createImport(services, OPERATOR.origin, { ...options, isRehearsal: true })
        for (const batch of batchesOf(related)) await target.write(batch)
        return target.write(users)
      })
      const outcome = rehearsed ?? { created: [], updated: [], skipped: [], rejected: [] }
      const written = [...outcome.created, ...outcome.updated]
      earlier.add(written.map((user) => ({ names: allNames(user), value: remembered(user) })))
      return outcome
    },
    close: earlier.close,
  }
}

function batchesOf(users: readonly ImportedUser[]): (readonly ImportedUser[])[] {
  const batches: (readonly ImportedUser[])[] = []
  const batch = createBatch<ImportedUser>()
  for (const user of users) {
    if (!batch.accepts(user)) batches.push(batch.take().entries)
    batch.add(user, user)
  }
  return [...batches, batch.take().entries].filter(({ length }) => length > 0)
}

/** What later users can conflict with, and no secret. */
function remembered(user: ImportedUser): ImportedUser {
  return {
    ...user,
    firstName: undefined,
    lastName: undefined,
    password: undefined,
    passwordHash: undefined,
    foreignKind: undefined,
    totpSecret: undefined,
  }
}

/** Replaces passwords by their hashes. Hashing is slow: nothing is hashed for an account that exists and stays as it is. */
async function hashPasswords(
  target: Import,
  users: readonly ImportedUser[],
  { options, passwords }: WriterOptions,
): Promise<ImportedUser[]> {
  const isPlain = users.some(({ password }) => password !== undefined)
  const existing: ReadonlySet<string> = isPlain && options.onConflict !== 'update' ? await target.existing(users) : new Set()
  return Promise.all(
    users.map(async (user) => {
      if (user.password === undefined || existing.has(user.emailKey)) return user
      return { ...user, passwordHash: await passwords.hash(user.password), password: undefined }
    }),
  )
}
