import type { CheckOptions } from '../../domain/import/check-user.ts'
import type { ImportedUser } from '../../domain/import/imported-user.ts'
import type { Blocklist } from '../../security/blocklist.ts'
import { createProgress } from '../terminal/progress.ts'
import { createBatch, createWriteQueue, UPDATE_BATCH_SIZE } from './batch.ts'
import { checkPlaintext, checkRecord } from './check-record.ts'
import { createWriter, type ImportTarget, type WriterOptions } from './import-writer.ts'
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

export type ImportRun = WriterOptions & {
  readonly file: string
  readonly source: Source
  readonly check: CheckOptions
  readonly total: number
  readonly rejects: Rejects
  readonly blocklist: Blocklist | undefined
}

/** An import ended before the end of its file. */
export class ImportStopped extends Error {
  override readonly name = 'ImportStopped'
  /** False only if nothing was sent to the database. A batch that failed may have been committed all the same. */
  readonly mayHaveWritten: boolean

  constructor(mayHaveWritten: boolean, cause: unknown) {
    super('the import was stopped', { cause })
    this.mayHaveWritten = mayHaveWritten
  }
}

type Entry = { readonly user: ImportedUser; readonly record: FileRecord }

/** Imports the users of a file in batches. While the database writes some, the next one is read. Throws ImportStopped. */
export async function importFile(target: ImportTarget, run: ImportRun): Promise<Counts> {
  const counts = { read: 0, created: 0, updated: 0, skipped: 0, rejected: 0 }
  const progress = createProgress(run.isDryRun ? 'checking' : 'importing', { showsRate: true })
  const writer = createWriter(target, run)
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
    throw new ImportStopped(mayHaveWritten, error)
  } finally {
    progress.clear()
    writer.close()
  }
  return counts
}
