import { chmodSync, closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { createDraft, makeFolder } from '../../shared/files.ts'
import { HISTORY_EXISTS, newerVersion, planMigrations, READ_HISTORY } from '../migrations.ts'
import { isBusy, isDamaged, makeFile } from '../sqlite/connection.ts'
import { compareSqliteSchema } from './schema.ts'

/** The number of rows in each table. */
export type Counts = Readonly<Record<string, number>>
export type OnPages = (done: number, total: number) => void
type CopyOptions = {
  readonly onPages: OnPages
  readonly mayReplace: boolean
  /** Whether the copy has to be an intact database of this version or an older one. */
  readonly isChecked: boolean
}

/** A copy, or the file that it would replace, failed a check. */
class CopyError extends Error {
  override readonly name = 'CopyError'
}

const TABLES = ['users', 'sessions', 'api_keys', 'outbox'] as const
const PAGES_PER_STEP = 500
const OWNER_ONLY = 0o600
const LOCK_TIMEOUT_MS = 5000

/** Writes a copy of a database that may be in use. The file is complete, or does not appear at all. */
export async function copySqlite(from: string, to: string, { onPages, mayReplace, isChecked }: CopyOptions): Promise<Counts> {
  using draft = createDraft(to)
  try {
    const counts = await copyInto(from, draft.path, onPages)
    if (isChecked) checkSqlite(draft.path, counts)
    draft.place({ mayReplace })
    return counts
  } finally {
    for (const suffix of ['-journal', '-wal', '-shm']) rmSync(draft.path + suffix, { force: true })
  }
}

/** Replaces the content of a database with that of another, in one transaction. Returns the new row counts. */
export async function copyInto(from: string, to: string, onPages: OnPages): Promise<Counts> {
  using source = new DatabaseSync(from, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  // A read transaction sees one state of the database, so that a concurrent write does not make the copy start over.
  source.exec('begin')
  const counts = countRows(source)
  await backup(source, to, {
    rate: PAGES_PER_STEP,
    progress: ({ totalPages, remainingPages }) => onPages(totalPages - remainingPages, totalPages),
  })
  return counts
}

/** Throws a CopyError unless the file is an intact database of this service, of this version or an older one. */
export function checkSqlite(file: string, expected?: Counts): Counts {
  using connection = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS })
  try {
    // A single file, without a write-ahead log that could be lost.
    connection.exec('pragma journal_mode = delete')
    const sound = connection.prepare('pragma integrity_check(1)').get()
    if (sound?.['integrity_check'] !== 'ok') throw new CopyError(`${file} is damaged: ${String(sound?.['integrity_check'])}`)
    if (connection.prepare('pragma foreign_key_check').get() !== undefined)
      throw new CopyError(`${file} is damaged: it has broken references`)
    if (connection.prepare(HISTORY_EXISTS.sqlite).get() === undefined) throw new CopyError(`${file} is not a database of Latchkey`)
    planMigrations('sqlite', connection.prepare(READ_HISTORY).all())
    const counts = countRows(connection)
    if (expected !== undefined && JSON.stringify(counts) !== JSON.stringify(expected))
      throw new CopyError(`${file} differs from its source: ${JSON.stringify(counts)} instead of ${JSON.stringify(expected)}`)
    return counts
  } catch (error) {
    if (isDamaged(error)) throw new CopyError(`${file} is not a SQLite database, or it is damaged`)
    throw error
  }
}

/** Throws a CopyError if the database has a trigger, view or table that its migrations do not create, or one that was changed. */
export function requireOwnSchema(file: string): void {
  using connection = new DatabaseSync(file, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  // What a newer version has created cannot be told apart from what somebody has planted.
  const { newer } = planMigrations('sqlite', connection.prepare(READ_HISTORY).all())
  if (newer[0] !== undefined) throw newerVersion(newer[0])
  const [difference] = compareSqliteSchema(connection).filter(({ isHarmless }) => !isHarmless)
  if (difference !== undefined) throw new CopyError(`${file} has a foreign schema: ${difference.message}`)
}

function countRows(connection: DatabaseSync): Counts {
  const isTable = connection.prepare("select 1 from sqlite_schema where type = 'table' and name = ?")
  const count = (table: string) => Number(connection.prepare(`select count(*) as count from ${table}`).get()?.['count'])
  // A database of an older version may lack some tables.
  return Object.fromEntries(TABLES.filter((table) => isTable.get(table) !== undefined).map((table) => [table, count(table)]))
}

type FileUse = 'absent' | 'free' | 'in use' | 'damaged'

/** Whether another process has the database open: an open connection prevents SQLite from leaving WAL mode. */
export function useOf(file: string): FileUse {
  if (!existsSync(file)) return 'absent'
  using connection = new DatabaseSync(file, { timeout: 0 })
  try {
    connection.exec('pragma journal_mode = delete')
    connection.exec('begin exclusive; rollback')
    return 'free'
  } catch (error) {
    if (isBusy(error)) return 'in use'
    if (isDamaged(error)) return 'damaged'
    throw error
  }
}

/** Creates an empty file that only its owner can read. */
export function createEmpty(file: string): void {
  makeFolder(dirname(file))
  makeFile(file)
  chmodSync(file, OWNER_ONLY)
}

export function flush(file: string): void {
  const handle = openSync(file, 'r+')
  fsyncSync(handle)
  closeSync(handle)
}
