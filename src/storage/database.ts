/** What a statement takes. Times are milliseconds since 1970, lists are JSON text: both databases keep them alike. */
export type Value = string | number | boolean | null

/**
 * One SQL text for both databases, in their common subset: `$1` for values, `returning`, `on conflict`.
 * Row is the shape that the named columns give; a boolean comes as a boolean or, from SQLite, as 0 or 1.
 */
export type Statement<Row> = {
  /** Its place among all declared statements, where a driver finds what it has prepared. */
  readonly index: number
  readonly sql: string
  /** The text for SQLite, where its search index or its one writer makes it another one. */
  readonly sqliteSql: string
  readonly isRead: boolean
  /** Reads so much that SQLite, which works on the thread of its caller, has to do it on a thread of its own. */
  readonly isLong: boolean
  /** Set where nearly every request asks it. */
  readonly hot?: HotPath<Row>
}

export type HotPath<Row> = {
  /** Makes the row from the values of the columns in their order, which spares looking up their names. */
  read(values: readonly unknown[]): Row
  readonly types: readonly PostgresType[]
  /** The statement for many at once: it takes a list for each value, and gives the place in the lists as its last column. */
  readonly gatheredSql: string
}

type PostgresType = 'text' | 'bigint'

export type Bit = boolean | 0 | 1

/** What a repository function needs: it does not care whether it runs within a transaction. */
export type Queries = {
  first<Row>(statement: Statement<Row>, ...values: Value[]): Promise<Row | undefined>
  all<Row>(statement: Statement<Row>, ...values: Value[]): Promise<Row[]>
  /** The number of rows that were changed. */
  run(statement: Statement<unknown>, ...values: Value[]): Promise<number>
}

/** Queries that cannot change anything. */
export type Reads = Pick<Queries, 'first' | 'all'>

/** A lock over an invariant of several rows, held until the transaction ends, in every process on the database. */
export type LockName = 'admins'

export type Transaction = Queries & { lock(name: LockName): Promise<void> }

export type TransactionOptions = {
  /** Nothing is committed once the signal has aborted. */
  readonly signal?: AbortSignal | undefined
  /** Called as soon as the work is committed, even when nobody waits for the result any more. */
  readonly onCommit?: (() => void) | undefined
  /** The account whose changes run one at a time. They wait for each other without occupying a connection. */
  readonly accountId?: number | undefined
}

export type Database = Queries & {
  /** Commits all of the work or nothing. The work must wait for nothing but the database. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, options?: TransactionOptions): Promise<Result>
  close(): Promise<void>
}

/** The reading side of a database. A statement that writes throws: rules write through their changes only. */
export function readsOf(db: Queries): Reads {
  function requireRead({ isRead, sql }: Statement<unknown>): void {
    if (!isRead) throw new Error(`not a read: ${sql}`)
  }
  return {
    first(statement, ...values) {
      requireRead(statement)
      return db.first(statement, ...values)
    },
    all(statement, ...values) {
      requireRead(statement)
      return db.all(statement, ...values)
    },
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

/** Declares a statement. Repositories do so at the top of their file, so that drivers can prepare all of them at start. */
export function statement<Row>(sql: string, sqliteSql = sql): Statement<Row> {
  return declare(sql, sqliteSql, /^\s*select\b/i.test(sql), false)
}

/** Declares a statement that reads long: a search. PostgreSQL plans it anew each time, with its values in view. */
export function longRead<Row>(sql: string, sqliteSql = sql): Statement<Row> {
  return declare(sql, sqliteSql, true, true)
}

/** Declares a statement that nearly every request asks, and that finds one row at most. The types are those of its values. */
export function hotRead<Row, Values extends readonly unknown[]>(
  sql: string,
  types: readonly PostgresType[],
  read: (values: Values) => Row,
): Statement<Row> {
  const lists = types.map((type, index) => `$${index + 1}::${type}[]`)
  const names = types.map((_, index) => `value_${index + 1}`)
  // The limit keeps each question a look-up of its own, whatever the planner thinks of the size of the tables.
  const gatheredSql = `
    select found.*, asked.place from unnest(${lists.join(', ')}) with ordinality as asked (${names.join(', ')}, place)
    cross join lateral (${sql.replace(/\$(\d+)/g, 'asked.value_$1')} limit 1) as found`
  return declare(sql, sql, true, false, { read, types, gatheredSql })
}

function declare<Row>(sql: string, sqliteSql: string, isRead: boolean, isLong: boolean, hot?: HotPath<Row>): Statement<Row> {
  const declared: Statement<Row> = { index: catalogue.length, sql, sqliteSql, isRead, isLong, ...(hot && { hot }) }
  catalogue.push(declared)
  return declared
}

export function declaredStatements(): readonly Statement<unknown>[] {
  return catalogue
}
