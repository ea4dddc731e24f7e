import { type Queries, type Reads, type SqlText, type StoredRow, statement, type Value } from './database.ts'

/*
 * Most functions of a repository are one statement, and are declared as that: what they run on, such as a transaction, and their
 * parameters, which are `$1`, `$2` and so on.
 */

type OneStatement<Db, Values extends readonly Value[], Result> = (db: Db, ...values: Values) => Promise<Result>

/** Returns how many rows were changed. */
export function countsChanges<Db extends Queries, Values extends readonly Value[]>(sql: SqlText): OneStatement<Db, Values, number> {
  const declared = statement(sql)
  return (db, ...values) => db.run(declared, ...values)
}

/** Runs a statement whose effect nobody asks for. */
export function runs<Db extends Queries, Values extends readonly Value[]>(sql: SqlText): OneStatement<Db, Values, void> {
  const declared = statement(sql)
  return async (db, ...values) => void (await db.run(declared, ...values))
}

/** Returns whether a row was changed. */
export function changes<Db extends Queries, Values extends readonly Value[]>(sql: SqlText): OneStatement<Db, Values, boolean> {
  const declared = statement(sql)
  return async (db, ...values) => (await db.run(declared, ...values)) > 0
}

/** Finds one row, or none. */
export function finds<Row, Values extends readonly Value[], Db extends Reads = Reads>(
  sql: SqlText,
  fromRow?: (row: StoredRow) => Row,
): OneStatement<Db, Values, Row | undefined> {
  const declared = statement(sql, fromRow)
  return (db, ...values) => db.first(declared, ...values)
}

/** Returns whether there is a row. */
export function exists<Db extends Reads, Values extends readonly Value[]>(sql: SqlText): OneStatement<Db, Values, boolean> {
  const declared = statement(sql)
  return async (db, ...values) => (await db.first(declared, ...values)) !== undefined
}

/** Returns the number that a statement selects as `count`. */
export function counts<Db extends Reads, Values extends readonly Value[]>(sql: SqlText): OneStatement<Db, Values, number> {
  const declared = statement<{ readonly count: number }>(sql)
  return async (db, ...values) => (await db.first(declared, ...values))?.count ?? 0
}

/** Lists all rows that it finds. */
export function lists<Row, Values extends readonly Value[], Db extends Reads = Reads>(
  sql: SqlText,
  fromRow?: (row: StoredRow) => Row,
): OneStatement<Db, Values, Row[]> {
  const declared = statement(sql, fromRow)
  return (db, ...values) => db.all(declared, ...values)
}
