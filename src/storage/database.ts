import type { Entity, Fields } from '../model/entity.ts'

/** Which database to open: a SQLite file, or the PostgreSQL database of a URL. */
export type DatabaseTarget = { readonly kind: 'sqlite'; readonly file: string } | PostgresTarget

export type PostgresTarget = {
  readonly kind: 'postgres'
  readonly url: string
  /** A replica, from which lists and searches are read. */
  readonly replicaUrl?: string | undefined
}

/** A parameter of a statement. Times are milliseconds since 1970 and lists are JSON text, in both databases. */
export type Value = string | number | boolean | null

/**
 * One SQL text for both databases, in their common subset: `$1` for values, `returning`, `on conflict`.
 * Row is the shape of the named columns; a boolean is a boolean or, in SQLite, 0 or 1.
 */
export type Statement<Row> = {
  /** Its index among all declared statements, by which a driver finds the prepared one. */
  readonly index: number
  readonly sql: string
  /** The same with `?1` in place of `$1`. */
  readonly sqliteSql: string
  readonly isRead: boolean
  /** Reads so much that SQLite, which blocks its thread, runs it on a separate thread. */
  readonly isLong: boolean
  /** Set for statements that nearly every request runs. */
  readonly hot?: HotPath<Row>
  /** Creates the result from a row. Without it, the row is the result. */
  readonly fromRow?: ((row: StoredRow) => Row) | undefined
}

/** A text for both databases, or one for each: they differ for the search index and for row locks. */
export type SqlText = string | SqlTexts
export type SqlTexts = { readonly postgres: string; readonly sqlite: string }

export type HotPath<Row> = {
  /** Creates the row from the values of the columns, by position: faster than by name. */
  read(values: readonly unknown[]): Row
  /** For PostgreSQL, one statement for many look-ups: it takes a list for each value, and returns the position in the lists as its last column. */
  readonly gatheredSql: string
  readonly types: readonly PostgresType[]
}

type PostgresType = 'text' | 'bigint'

/** A row by the names of its columns, which an entity of the model reads. */
export type StoredRow = Readonly<Record<string, unknown>>

export type Bit = boolean | 0 | 1

/** What a repository function needs, inside or outside a transaction. */
export type Queries = {
  first<Row>(statement: Statement<Row>, ...values: Value[]): Promise<Row | undefined>
  all<Row>(statement: Statement<Row>, ...values: Value[]): Promise<Row[]>
  /** The number of rows that were changed. */
  run(statement: Statement<unknown>, ...values: Value[]): Promise<number>
}

/** Queries that cannot change anything. */
export type Reads = Pick<Queries, 'first' | 'all'>

/** A lock over an invariant of several rows, held until the transaction ends, in every process on the database. */
export type LockName = 'admins' | 'signing-keys' | 'audit-chain'

export type Transaction = Queries & { lock(name: LockName): Promise<void> }

/** A statement whose result nobody reads. */
export type FinalStatement = { readonly statement: Statement<unknown>; readonly values: readonly Value[] }

export type TransactionOptions = {
  /**
   * The last statements of the transaction, requested once the work is done. PostgreSQL receives them together with the commit, so they
   * cost no round trip. If one fails, nothing is committed.
   */
  readonly finalStatements?: (() => readonly FinalStatement[]) | undefined
  /** Nothing is committed once the signal has aborted. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called right before the commit is sent to a server. An error after that does not say whether the work was committed: the answer may have
   * been lost. SQLite has no server, so its errors always mean that nothing was committed.
   */
  readonly onCommitSent?: (() => void) | undefined
  /** Called as soon as the work is committed, even if the client has disconnected. */
  readonly onCommit?: (() => void) | undefined
  /** The account whose changes run one at a time. They wait for each other without occupying a connection. */
  readonly accountId?: number | undefined
  /** For a batch of many rows, which nobody's request waits for: it gets a minute instead of the deadline of a request. */
  readonly isLong?: boolean | undefined
}

export const LONG_TRANSACTION_MS = 60_000

export type Database = Queries & {
  /** For lists, searches and exports, which may be a few seconds old: they come from a replica where there is one. */
  readonly lists: Reads
  /** Commits all of the work or nothing. The work must wait for nothing but the database. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, options?: TransactionOptions): Promise<Result>
  close(): Promise<void>
}

/** The reading side of a database. A statement that writes throws: rules write through their changes only. */
export function readsOf(db: Reads): Reads {
  function requireRead<Row>(statement: Statement<Row>): Statement<Row> {
    if (!statement.isRead) throw new Error(`not a read: ${statement.sql}`)
    return statement
  }
  return {
    first: (statement, ...values) => db.first(requireRead(statement), ...values),
    all: (statement, ...values) => db.all(requireRead(statement), ...values),
  }
}

/** A value that has to be unique is taken. */
export class UniqueViolation extends Error {
  constructor(cause: unknown) {
    super('a unique value is taken', { cause })
    this.name = 'UniqueViolation'
  }
}

/** A row that this one belongs to is gone: it was deleted a moment ago. */
export class MissingReference extends Error {
  constructor(cause: unknown) {
    super('the row that this one belongs to does not exist', { cause })
    this.name = 'MissingReference'
  }
}

const catalogue: Statement<unknown>[] = []

/**
 * Declares a statement. Repositories do so at the top level of their file, so that drivers can prepare all of them at start.
 *
 * SQLite prepares a statement anew at each run if its limit is a parameter, because the best plan depends on it. A statement that requests
 * wait for has `limit $1 + 0`: that was 8 % of the processor time of a login beside its hash.
 */
export function statement<Row>(sql: SqlText, fromRow?: (row: StoredRow) => Row): Statement<Row> {
  return declare(sql, { isLong: false, fromRow })
}

/** Declares a long read, such as a search. PostgreSQL plans it for each execution, with its values. */
export function longRead<Row>(sql: SqlText, fromRow?: (row: StoredRow) => Row): Statement<Row> {
  return declare(sql, { isLong: true, fromRow })
}

/**
 * Declares a statement that nearly every request runs, and that finds at most one row. The types are those of its values; the text is given
 * the expressions that stand for them.
 */
export function hotRead<Row>(
  types: readonly PostgresType[],
  sqlWith: (values: readonly string[]) => string,
  read: (values: readonly unknown[]) => Row,
): Statement<Row> {
  const names = types.map((_, index) => `value_${index + 1}`)
  const lists = types.map((type, index) => `$${index + 1}::${type}[]`)
  // The limit makes the planner look up each row by its index, whatever it estimates about the size of the tables.
  const gatheredSql = `
    select found.*, asked.place from unnest(${lists.join(', ')}) with ordinality as asked (${names.join(', ')}, place)
    cross join lateral (${sqlWith(names.map((name) => `asked.${name}`))} limit 1) as found`
  const sql = sqlWith(types.map((_, index) => `$${index + 1}`))
  return declare(sql, { isLong: false, hot: { read, types, gatheredSql } })
}

function declare<Row>(text: SqlText, properties: Pick<Statement<Row>, 'isLong' | 'hot' | 'fromRow'>): Statement<Row> {
  const { postgres: sql, sqlite } = typeof text === 'string' ? { postgres: text, sqlite: text } : text
  const isRead = properties.isLong || /^\s*select\b/i.test(sql)
  const declared: Statement<Row> = { index: catalogue.length, sql, sqliteSql: numbered(sqlite), isRead, ...properties }
  catalogue.push(declared)
  return declared
}

/** To SQLite, `$1` is a name and `?1` a position: a read by an index takes half as long again if its values are bound by name. */
export function numbered(sql: string): string {
  return sql.replace(/\$(\d+)/g, '?$1')
}

export function declaredStatements(): readonly Statement<unknown>[] {
  return catalogue
}

/** The beginning of a statement that inserts one row with the values of an entity. */
export function insertInto({ table, columnNames }: Pick<Entity<Fields>, 'table' | 'columnNames'>): string {
  return `insert into ${table} (${columnNames.join(', ')}) values (${columnNames.map((_, index) => `$${index + 1}`).join(', ')})`
}
