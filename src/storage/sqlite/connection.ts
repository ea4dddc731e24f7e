import { accessSync, closeSync, constants, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../model/refusal.ts'
import { codeOf } from '../../shared/errors.ts'
import { makeFolder } from '../../shared/files.ts'
import { MissingReference, UniqueViolation } from '../database.ts'

const PRIMARY_RESULT_MASK = 0xff
const SQLITE_BUSY = 5
const SQLITE_CONSTRAINT_FOREIGNKEY = 787
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555
const SQLITE_CONSTRAINT_UNIQUE = 2067
// Results that describe the disk or another process, not a wrong statement: perm, busy, locked, nomem, readonly, ioerr, full, cantopen.
const OUTAGES = new Set([3, SQLITE_BUSY, 6, 7, 8, 10, 13, 14])
// corrupt, notadb
const DAMAGE = new Set([11, 26])
/** How long a start waits for the lock of another process, which may be migrating. */
export const LOCK_DEADLINE_MS = 60_000

export async function connect(file: string): Promise<DatabaseSync> {
  makeFolder(dirname(file))
  makeFile(file)
  // Waiting for a lock inside SQLite would block the event loop; whenNotBusy() waits instead.
  const connection = new DatabaseSync(file, { timeout: 0 })
  // A log of 16 MB before it is moved to the file, in place of 4 MB: pages that many writes change are moved less often. New API keys were
  // written 1.13 times as fast.
  const pragmas = 'pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma wal_autocheckpoint = 4000'
  await whenNotBusy(async () => connection.exec(pragmas), deadlineIn(LOCK_DEADLINE_MS))
  return connection
}

/**
 * A new file is readable by its owner alone, because it holds password hashes; SQLite gives its side files the same mode. An existing file
 * is not opened here: closing it again would release every lock that this process has on it, and others would take the database for unused.
 */
export function makeFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) accessSync(file, constants.R_OK | constants.W_OK)
  // A symbolic link to nowhere is refused: the database would appear where somebody else has said.
  else closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600))
}

export function guarded<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw translate(error)
  }
}

/** Turns an error of SQLite into one that the layers above know. */
export function translate(error: unknown): unknown {
  // Node uses this code for a closed database and for its finalised statements.
  if (codeOf(error) === 'ERR_INVALID_STATE') return new Refusal('unavailable', 'SQLite: the database is closed', { cause: error })
  const code = resultCode(error)
  if (code === undefined) return error
  if (code === SQLITE_CONSTRAINT_UNIQUE || code === SQLITE_CONSTRAINT_PRIMARYKEY) return new UniqueViolation(error)
  if (code === SQLITE_CONSTRAINT_FOREIGNKEY) return new MissingReference(error)
  if (isDamaged(error))
    return new Refusal('unavailable', `SQLite: the database is damaged (${String(error)}); stop the service and restore a backup`, {
      cause: error,
    })
  if (OUTAGES.has(code & PRIMARY_RESULT_MASK)) return new Refusal('unavailable', `SQLite: ${String(error)}`, { cause: error })
  return error
}

function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}

/** The file is not a database, or its pages contradict each other. */
export function isDamaged(error: unknown): boolean {
  return DAMAGE.has((resultCode(error) ?? 0) & PRIMARY_RESULT_MASK)
}

export function isBusy(error: unknown): boolean {
  const cause = error instanceof Refusal ? error.cause : error
  return ((resultCode(cause) ?? 0) & PRIMARY_RESULT_MASK) === SQLITE_BUSY
}

export async function begin(connection: DatabaseSync, deadline: number): Promise<void> {
  await whenNotBusy(async () => guarded(() => connection.exec('begin immediate')), deadline)
}

/** A failed commit may have ended the transaction already. If the rollback fails too, the next transaction cannot begin. */
export function rollBack(connection: DatabaseSync): void {
  try {
    if (connection.isTransaction) connection.exec('rollback')
  } catch {
    // What has failed was refused already.
  }
}

export function deadlineIn(ms: number): number {
  return performance.now() + ms
}

// SQLite has no queue for its lock. A process that tried less often would find the lock taken by others again and again.
const MAX_PAUSE_MS = 8

/** Retries while another process holds the write lock. Other work runs in between. */
export async function whenNotBusy<Result>(work: () => Promise<Result>, deadline: number): Promise<Result> {
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await sleep(pauseMs)
  }
}

/**
 * Creates a check that throws `unavailable` unless a restart would open the files that are open now: SQLite keeps writing to files that were
 * moved, removed or replaced, and those writes are lost when the process ends. When the files are gone, `rescue` is called until it succeeds,
 * once per loss: it moves the write-ahead log into the database file, wherever that is by now, so that a log that was left behind cannot
 * change the file that took its place.
 */
export function watchFiles(file: string, rescue: () => boolean): () => void {
  // If the name is a link, SQLite keeps its log beside the file that the link points to.
  const opened = [file, `${realpathSync(file)}-wal`].map((path) => ({ path, identity: identityOf(path) }))
  let isRescued = false

  return () => {
    const lost = opened.find(({ path, identity }) => identityOf(path) !== identity)
    if (lost === undefined) {
      isRescued = false
      return
    }
    if (!isRescued) isRescued = rescue()
    throw new Refusal(
      'unavailable',
      `SQLite: ${lost.path} was moved, removed or replaced while the service had it open. Nothing is written until it is back; otherwise stop the service, restore a backup if the database is gone, and start it again`,
    )
  }
}

/** Undefined if the file does not exist or is not accessible. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path)
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}
