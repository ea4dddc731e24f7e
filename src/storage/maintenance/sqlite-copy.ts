import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { makeFolder } from '../../shared/make-folder.ts'
import { type AppliedMigration, MIGRATIONS_FOLDER, pendingMigrations, READ_HISTORY, readMigrations } from '../migrations.ts'
import { isBusy, isDamaged } from '../sqlite/connection.ts'
import { compareSqliteSchema } from './schema-sqlite.ts'

/** How many rows each table holds. */
export type Counts = Readonly<Record<string, number>>
export type OnPages = (done: number, total: number) => void

/** A copy, or what it should replace, is not as it has to be. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
}

const TABLES = ['users', 'sessions', 'api_keys', 'outbox'] as const
const PAGES_PER_STEP = 500
const OWNER_ONLY = 0o600
const LOCK_TIMEOUT_MS = 5000

/** Writes a checked copy of a database that others may be using. The file appears whole, or not at all. */
export async function copySqlite(from: string, to: string, mayReplace: boolean, onPages: OnPages): Promise<Counts> {
  return writeCopy(from, to, mayReplace, onPages, checkSqlite)
}

/** Writes a copy of whatever a database holds, also of another version. The file appears whole, or not at all, and replaces nothing. */
export async function copyWhole(from: string, to: string, onPages: OnPages): Promise<Counts> {
  return writeCopy(from, to, false, onPages, () => undefined)
}

async function writeCopy(
  from: string,
  to: string,
  mayReplace: boolean,
  onPages: OnPages,
  check: (draft: string, counts: Counts) => unknown,
): Promise<Counts> {
  const draft = `${to}.${process.pid}.part`
  closeSync(openSync(draft, 'wx', OWNER_ONLY))
  try {
    const counts = await copyInto(from, draft, onPages)
    check(draft, counts)
    flush(draft)
    putInPlace(draft, to, mayReplace)
    return counts
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(draft + suffix, { force: true })
  }
}

/** A link never replaces what is there; a rename does. */
function putInPlace(draft: string, to: string, mayReplace: boolean): void {
  if (mayReplace) renameSync(draft, to)
  else linkSync(draft, to)
}

/** Replaces the content of a file by that of another, in one transaction, and gives what it holds then. */
export async function copyInto(from: string, to: string, onPages: OnPages): Promise<Counts> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  try {
    // What is read from here on is one state of the database, whatever others write meanwhile: the copy need not begin anew.
    source.exec('begin')
    const counts = countRows(source)
    await backup(source, to, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) => onPages(totalPages - remainingPages, totalPages),
    })
    return counts
  } finally {
    source.close()
  }
}

/** Throws CopyError unless a file is a sound database of this service, of this version or an older one. */
export function checkSqlite(file: string, expected?: Counts): Counts {
  const connection = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS })
  try {
    // One file alone, without a log beside it that could be left behind.
    connection.exec('pragma journal_mode = delete')
    return inspect(connection, file, expected)
  } catch (error) {
    if (isDamaged(error)) throw new CopyError(`${file} is not a SQLite database, or it is damaged`)
    throw error
  } finally {
    connection.close()
  }
}

/** Throws CopyError if a sound database contains a trigger, view or table that its migrations do not create, or a changed one. */
export function requireOwnSchema(file: string): void {
  const connection = new DatabaseSync(file, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  try {
    const [difference] = compareSqliteSchema(connection).filter(({ isHarmless }) => !isHarmless)
    if (difference !== undefined) throw new CopyError(`${file} has a foreign schema: ${difference.message}`)
  } finally {
    connection.close()
  }
}

function inspect(connection: DatabaseSync, file: string, expected: Counts | undefined): Counts {
  const sound = connection.prepare('pragma integrity_check(1)').get()
  if (sound?.['integrity_check'] !== 'ok') throw new CopyError(`${file} is damaged: ${String(sound?.['integrity_check'])}`)
  if (connection.prepare('pragma foreign_key_check').get() !== undefined)
    throw new CopyError(`${file} is damaged: it has broken references`)
  requireOurs(connection, file)
  const counts = countRows(connection)
  if (expected !== undefined && JSON.stringify(counts) !== JSON.stringify(expected))
    throw new CopyError(`${file} does not hold what it was copied from: ${JSON.stringify(counts)} instead of ${JSON.stringify(expected)}`)
  return counts
}

function requireOurs(connection: DatabaseSync, file: string): void {
  const isOurs = connection.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get() !== undefined
  if (!isOurs) throw new CopyError(`${file} is not a database of Latchkey`)
  // The statement names these two columns.
  const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
  pendingMigrations(readMigrations(`${MIGRATIONS_FOLDER}/sqlite`), applied)
}

function countRows(connection: DatabaseSync): Counts {
  const isTable = connection.prepare("select 1 from sqlite_schema where type = 'table' and name = ?")
  const count = (table: string) => Number(connection.prepare(`select count(*) as count from ${table}`).get()?.['count'])
  // A database of an older version may not have all of them.
  return Object.fromEntries(TABLES.filter((table) => isTable.get(table) !== undefined).map((table) => [table, count(table)]))
}

export type FileUse = 'absent' | 'free' | 'in use' | 'damaged'

/** Whether another process has a database open. Each open connection keeps it from leaving its write-ahead log behind. */
export function useOf(file: string): FileUse {
  if (!existsSync(file)) return 'absent'
  const connection = new DatabaseSync(file, { timeout: 0 })
  try {
    connection.exec('pragma journal_mode = delete')
    connection.exec('begin exclusive; rollback')
    return 'free'
  } catch (error) {
    if (isBusy(error)) return 'in use'
    if (isDamaged(error)) return 'damaged'
    throw error
  } finally {
    connection.close()
  }
}

/** A file that is readable by its owner alone, to be filled. */
export function createEmpty(file: string): void {
  makeFolder(dirname(file))
  closeSync(openSync(file, 'a', OWNER_ONLY))
  chmodSync(file, OWNER_ONLY)
}

export function flush(file: string): void {
  const handle = openSync(file, 'r+')
  fsyncSync(handle)
  closeSync(handle)
}
