import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../model/refusal.ts'
import {
  type Database,
  declaredStatements,
  type Queries,
  type Statement,
  type Transaction,
  UniqueViolation,
  type Value,
} from './database.ts'
import {
  type AppliedMigration,
  CREATE_HISTORY,
  MIGRATIONS_FOLDER,
  type Migration,
  pendingMigrations,
  READ_HISTORY,
  readMigrations,
} from './migrations.ts'

const PRIMARY_RESULT_MASK = 0xff
const SQLITE_BUSY = 5
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555
const SQLITE_CONSTRAINT_UNIQUE = 2067
// Results that tell of the disk or of another process, not of a wrong statement: perm, busy, locked, nomem, readonly, ioerr, full, cantopen.
const OUTSIDE_FAULTS = new Set([3, SQLITE_BUSY, 6, 7, 8, 10, 13, 14])
const BUSY_DEADLINE_MS = 2500
const MIGRATION_DEADLINE_MS = 60_000

/** Applies what is missing, in one transaction under the write lock: a process that is killed half-way leaves nothing behind. */
export async function migrateSqlite(file: string, folder = `${MIGRATIONS_FOLDER}/sqlite`): Promise<Migration[]> {
  const connection = await connect(file)
  try {
    await begin(connection, MIGRATION_DEADLINE_MS)
    connection.exec(CREATE_HISTORY)
    const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
    const pending = pendingMigrations(readMigrations(folder), applied)
    const record = connection.prepare('insert into schema_migrations (name, checksum, applied_at) values (?, ?, ?)')
    for (const { name, sql, checksum } of pending) {
      connection.exec(sql)
      record.run(name, checksum, Date.now())
    }
    connection.exec('commit')
    return pending
  } finally {
    connection.close()
  }
}

/** Two connections: one writer, used by one transaction at a time, and one reader, which never waits for it. */
export async function openSqlite(file: string): Promise<Database> {
  const writer = await connect(file)
  const reader = await connect(file)
  reader.exec('pragma query_only = on')
  const read = queries(prepareAll(reader))
  const write = queries(prepareAll(writer))
  let writerIsFree: Promise<unknown> = Promise.resolve()

  function exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = writerIsFree.then(work)
    writerIsFree = result.catch(() => undefined)
    return result
  }

  async function transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    await begin(writer, BUSY_DEADLINE_MS)
    try {
      // The write lock of SQLite covers every row, so that no lock remains to be taken.
      const result = await work({ ...write, lock: async () => undefined })
      commit(writer)
      return result
    } catch (error) {
      // A failed commit may have ended the transaction already.
      if (writer.isTransaction) writer.exec('rollback')
      throw error
    }
  }

  return {
    first: (statement, ...values) =>
      statement.isRead ? read.first(statement, ...values) : exclusively(() => whenNotBusy(() => write.first(statement, ...values))),
    all: (statement, ...values) =>
      statement.isRead ? read.all(statement, ...values) : exclusively(() => whenNotBusy(() => write.all(statement, ...values))),
    run: (statement, ...values) => exclusively(() => whenNotBusy(() => write.run(statement, ...values))),
    transaction: (work) => exclusively(() => transaction(work)),
    async close() {
      await writerIsFree
      for (const connection of [reader, writer]) if (connection.isOpen) connection.close()
    },
  }
}

async function connect(file: string): Promise<DatabaseSync> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // Password hashes are in it: a new file is readable by its owner alone, and SQLite gives its side files the same mode.
  closeSync(openSync(file, 'a', 0o600))
  // No waiting inside SQLite: that would hold the event loop. Waiting for a lock is done in whenNotBusy().
  const connection = new DatabaseSync(file, { timeout: 0 })
  await whenNotBusy(async () => connection.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on'))
  return connection
}

function prepareAll(connection: DatabaseSync): StatementSync[] {
  return declaredStatements().map(({ sql }) => connection.prepare(numbered(sql)))
}

// `$1` is a name to SQLite, `?1` is a number.
function numbered(sql: string): string {
  return sql.replace(/\$(\d+)/g, '?$1')
}

function queries(prepared: readonly StatementSync[]): Queries {
  function find({ index, sql }: Statement<unknown>): StatementSync {
    const found = prepared[index]
    if (found === undefined) throw new Error(`statement was declared after the database was opened: ${sql}`)
    return found
  }
  return {
    // A row has the shape that the statement's type declares; the tests of each repository hold the two together.
    first: async <Row>(statement: Statement<Row>, ...values: Value[]) =>
      guarded(() => find(statement).get(...values.map(bindable)) as Row | undefined),
    all: async <Row>(statement: Statement<Row>, ...values: Value[]) => guarded(() => find(statement).all(...values.map(bindable)) as Row[]),
    run: async (statement, ...values) => guarded(() => Number(find(statement).run(...values.map(bindable)).changes)),
  }
}

function bindable(value: Value): string | number | null {
  return typeof value === 'boolean' ? Number(value) : value
}

function guarded<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  if (isClosed(error)) return new Refusal('unavailable', 'SQLite: the database is closed', { cause: error })
  const code = resultCode(error)
  if (code === undefined) return error
  if (code === SQLITE_CONSTRAINT_UNIQUE || code === SQLITE_CONSTRAINT_PRIMARYKEY) return new UniqueViolation(error)
  if (OUTSIDE_FAULTS.has(code & PRIMARY_RESULT_MASK)) return new Refusal('unavailable', `SQLite: ${String(error)}`, { cause: error })
  return error
}

// Both a closed database and its finalised statements say so with this code.
function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
}

function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}

function isBusy(error: unknown): boolean {
  const cause = error instanceof Refusal ? error.cause : error
  return ((resultCode(cause) ?? 0) & PRIMARY_RESULT_MASK) === SQLITE_BUSY
}

async function begin(connection: DatabaseSync, deadlineMs: number): Promise<void> {
  await whenNotBusy(async () => guarded(() => connection.exec('begin immediate')), deadlineMs)
}

function commit(connection: DatabaseSync): void {
  guarded(() => connection.exec('commit'))
}

/** Another process may hold the write lock for a moment: tries again, letting other work run in between. */
async function whenNotBusy<Result>(work: () => Promise<Result>, deadlineMs = BUSY_DEADLINE_MS): Promise<Result> {
  const deadline = performance.now() + deadlineMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await sleep(pauseMs)
  }
}
