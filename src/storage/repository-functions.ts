import type { Entity, Fields, ValuesOf } from '../model/entity.ts'
import { insertInto, type Queries, type Reads, type SqlText, type StoredRow, statement, type Transaction, type Value } from './database.ts'

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

type Source<Row> = Pick<Entity<Fields>, 'table' | 'columns'> & { fromRow(row: StoredRow): Row }

/** Finds one row of the table of an entity, or none. The clauses follow `select … from`. */
export function findsIn<Row, Values extends readonly Value[], Db extends Reads = Reads>(
  { table, columns, fromRow }: Source<Row>,
  clauses: string,
): OneStatement<Db, Values, Row | undefined> {
  return finds(`select ${columns} from ${table} ${clauses}`, fromRow)
}

/** The same for all rows that it finds. */
export function listsIn<Row, Values extends readonly Value[], Db extends Reads = Reads>(
  { table, columns, fromRow }: Source<Row>,
  clauses: string,
): OneStatement<Db, Values, Row[]> {
  return lists(`select ${columns} from ${table} ${clauses}`, fromRow)
}

/** Inserts a row. Throws UniqueViolation if a value that has to be unique is taken. */
export function inserts<F extends Fields>(row: Entity<F>): (tx: Transaction, values: ValuesOf<F>) => Promise<void> {
  const declared = statement(insertInto(row))
  return async (tx, values) => void (await tx.run(declared, ...row.toValues(values)))
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
