import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { DatabaseTarget } from '../../database.ts'
import { HISTORY_EXISTS, planMigrations, READ_HISTORY } from '../../migrations.ts'
import { copyInto } from '../sqlite-copy.ts'
import { NOTHING_TRIED, type Trial, TrialError, type TrialOptions } from './trial.ts'

/** Tries the pending migrations on a copy (SQLite) or in a transaction that is rolled back. Returns undefined if there is no database yet. */
export async function tryUpgrade(target: DatabaseTarget, options: TrialOptions): Promise<Trial | undefined> {
  if (target.kind === 'postgres') {
    const { tryOnPostgres } = await import('./trial-postgres.ts')
    return tryOnPostgres(target.url, options)
  }
  if (!existsSync(target.file)) return undefined
  return tryOnSqlite(target.file, options)
}

/** What the process that migrates the copy prints. */
export type CopyMigrated = Pick<Trial, 'steps' | 'tookMs' | 'size'>

const FOLDER_PREFIX = '.latchkey-upgrade-check-'
// The copy, its write-ahead log, and what the migrations add.
const ROOM_FACTOR = 3
const CHECK_EVERY_MS = 50
const LOCK_TIMEOUT_MS = 5000

/** Migrates a copy in a folder beside the database, which is removed afterwards. */
async function tryOnSqlite(file: string, options: TrialOptions): Promise<Trial> {
  const { pending, newer } = pendingOf(file, options)
  const bytes = sizeOf(file)
  if (pending.length === 0)
    return { ...NOTHING_TRIED, pending, newer, size: { before: bytes, after: bytes, indexGrowth: undefined, log: 0 } }
  requireRoom(dirname(file), bytes * ROOM_FACTOR)
  const folder = mkdtempSync(join(dirname(file), FOLDER_PREFIX))
  try {
    const copy = join(folder, 'copy.db')
    await copyInto(file, copy, options.check)
    const migrated = await migrateCopy(copy, options)
    // The service migrates before it listens, and SQLite lets nobody write meanwhile.
    return { ...migrated, pending, newer, waits: [{ table: 'the database', blocks: 'writes', forMs: migrated.tookMs }], stopped: undefined }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function pendingOf(file: string, { folder }: TrialOptions): Pick<Trial, 'pending' | 'newer'> {
  using connection = new DatabaseSync(file, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  const isMigrated = connection.prepare(HISTORY_EXISTS.sqlite).get() !== undefined
  const { pending, newer } = planMigrations('sqlite', isMigrated ? connection.prepare(READ_HISTORY).all() : [], folder)
  return { pending: pending.map(({ name }) => name), newer }
}

function sizeOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0)
}

function requireRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  if (free >= bytes) return
  const inMegabytes = (size: number) => `${Math.ceil(size / 1_000_000)} MB`
  throw new TrialError(
    `the copy needs up to ${inMegabytes(bytes)} in ${folder}, where ${inMegabytes(free)} are free; nothing was copied. ` +
      'Free some space, or restore a backup on another machine and run the check there',
  )
}

/** A migration blocks the thread that it runs on, so it runs in another process, which can be ended. */
async function migrateCopy(copy: string, { check, folder }: TrialOptions): Promise<CopyMigrated> {
  const script = fileURLToPath(new URL(`./sqlite-trial.process${extname(import.meta.url)}`, import.meta.url))
  const child = spawn(process.execPath, [script, copy, ...(folder === undefined ? [] : [folder])], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let interruption: unknown
  const timer = setInterval(() => {
    try {
      check()
    } catch (error) {
      interruption ??= error
      child.kill('SIGKILL')
    }
  }, CHECK_EVERY_MS)
  try {
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    if (interruption !== undefined) throw interruption
    check()
    if (code !== 0) throw new TrialError(`the migrations fail on a copy of the database: ${errors.trim().split('\n').at(-1)}`)
    return JSON.parse(output) as CopyMigrated
  } finally {
    clearInterval(timer)
    child.kill('SIGKILL')
  }
}
