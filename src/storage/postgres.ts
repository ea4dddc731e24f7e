import postgres from 'postgres'
import { Refusal } from '../model/refusal.ts'
import { type Database, type LockName, MissingReference, type Queries, type Statement, UniqueViolation, type Value } from './database.ts'
import {
  type AppliedMigration,
  CREATE_HISTORY,
  MIGRATIONS_FOLDER,
  type Migration,
  pendingMigrations,
  READ_HISTORY,
  readMigrations,
} from './migrations.ts'
import { type PostgresAddress, parsePostgresUrl } from './postgres-url.ts'

const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_S = 2
const STATEMENT_TIMEOUT_MS = 5000
// A caller hears 503 within three seconds, whatever state the database is in.
const ANSWER_DEADLINE_MS = 2500
const MIGRATION_LOCK = 7_214_000
const LOCKS: Record<LockName, number> = { admins: 7_214_001 }

const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'
// Classes and codes that tell of the server's state, not of a wrong statement: connection, rolled back, resources, intervention, system; read-only, lock not available.
const OUTSIDE_FAULT = /^(?:08|40|53|57|58|XX)...$|^(?:25006|55P03)$/

type Client = postgres.Sql<{ bigint: number }>
type Connection = Client | postgres.TransactionSql<{ bigint: number }>

/** Applies what is missing, in one transaction under a lock that all processes share. */
export async function migratePostgres(url: string, folder = `${MIGRATIONS_FOLDER}/postgres`): Promise<Migration[]> {
  const client = connect(url, 1, 0)
  try {
    return await client.begin(async (tx) => {
      await tx.unsafe('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
      await tx.unsafe(CREATE_HISTORY)
      const applied = await tx.unsafe<AppliedMigration[]>(READ_HISTORY)
      const pending = pendingMigrations(readMigrations(folder), applied)
      for (const { name, sql, checksum } of pending) {
        await tx.unsafe(sql).simple()
        await tx.unsafe('insert into schema_migrations (name, checksum, applied_at) values ($1, $2, $3)', [name, checksum, Date.now()])
      }
      return pending
    })
  } finally {
    await client.end({ timeout: 1 })
  }
}

export function openPostgres(url: string): Database {
  const client = connect(url, MAX_CONNECTIONS, STATEMENT_TIMEOUT_MS)
  return {
    ...queries(client),
    transaction: (work) =>
      answered(async (requireTime) => {
        const result = await client.begin(async (tx) => {
          const lock = async (name: LockName) => void (await tx.unsafe('select pg_advisory_xact_lock($1)', [LOCKS[name]], PREPARED))
          const value = await work({ ...queries(tx), lock })
          // Who has been told that it failed must not find later that it happened.
          requireTime()
          return { value }
        })
        return result.value
      }),
    close: () => client.end({ timeout: 1 }),
  }
}

const PREPARED = { prepare: true }

function connect(url: string, max: number, statementTimeoutMs: number): Client {
  const address = parsePostgresUrl(url)
  if (address === undefined) throw new Error('the address of the PostgreSQL database is not well formed')
  return postgres(url, {
    ...destination(address),
    max,
    connect_timeout: CONNECT_TIMEOUT_S,
    // An outage must not make the service wait longer than itself to see that it is over.
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 1),
    connection: { application_name: 'latchkey', statement_timeout: statementTimeoutMs, TimeZone: 'UTC' },
    onnotice: () => undefined,
    fetch_types: false,
    // Ids and times are far below 2^53, where a JavaScript number is exact.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })
}

/** Given apart from the URL, because the driver takes an IPv6 address apart at its colons and does not decode the name of a database. */
function destination({ hosts, database }: PostgresAddress): { database: string } {
  const lists = { host: hosts.map(({ host }) => host), port: hosts.map(({ port }) => port) }
  // The driver takes lists, and documents them; the type of its options leaves them out.
  return { database, ...lists }
}

function queries(connection: Connection): Queries {
  const rows = <Row>(statement: Statement<Row>, values: Value[]) => answered(() => connection.unsafe(statement.sql, values, PREPARED))
  return {
    // A row has the shape that the statement's type declares; the tests of each repository hold the two together.
    first: async <Row>(statement: Statement<Row>, ...values: Value[]) => (await rows(statement, values))[0] as Row | undefined,
    all: async <Row>(statement: Statement<Row>, ...values: Value[]) => Array.from(await rows(statement, values)) as Row[],
    run: async (statement, ...values) => (await rows(statement, values)).count,
  }
}

/** Ends the wait, though not the work, at the deadline, and turns what went wrong into words that the layers above know. */
async function answered<Result>(work: (requireTime: () => void) => PromiseLike<Result>): Promise<Result> {
  const late = () => new Refusal('unavailable', `PostgreSQL gave no answer within ${ANSWER_DEADLINE_MS} ms`)
  let isLate = false
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true
      reject(late())
    }, ANSWER_DEADLINE_MS)
  })
  const requireTime = () => {
    if (isLate) throw late()
  }
  try {
    return await Promise.race([work(requireTime), deadline])
  } catch (error) {
    throw translate(error)
  } finally {
    clearTimeout(timer)
  }
}

function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Refusal || !('code' in error)) return error
  if (error.code === UNIQUE_VIOLATION) return new UniqueViolation(error)
  if (error.code === FOREIGN_KEY_VIOLATION) return new MissingReference(error)
  const isOutsideFault = !(error instanceof postgres.PostgresError) || OUTSIDE_FAULT.test(error.code)
  return isOutsideFault ? new Refusal('unavailable', `PostgreSQL: ${error.message}`, { cause: error }) : error
}
