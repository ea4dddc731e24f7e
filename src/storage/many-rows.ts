import { type Statement, statement } from './database.ts'
import { NUMBERED_TABLES, TABLES, type TableName } from './tables.ts'

type Texts = { readonly postgres: string; readonly sqlite: string }

const ID_COLUMNS: Partial<Record<TableName, string>> = NUMBERED_TABLES

/** Rows of a table that a statement gets as one JSON text, `$1`: a list of objects with the names of the columns. */
export function givenRows(table: TableName, columns: readonly string[] = TABLES[table]): Texts {
  return {
    // The row type of the table converts each value, such as 0 and 1 to a boolean.
    postgres: `select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1::text::json)`,
    // SQLite would otherwise write the text of a row again for each of its columns.
    sqlite: `with given_rows as materialized (select value from json_each($1))
      select ${columns.map((column) => `value ->> '${column}' as ${column}`).join(', ')} from given_rows where true`,
  }
}

export type InsertOptions = {
  /** Whether the rows have ids. Otherwise the database generates them. */
  readonly keepsIds: boolean
  /** `on conflict` or `returning`. */
  readonly suffix?: string
}

/** The texts of an `insert` of any number of rows. */
export function insertRows(table: TableName, { keepsIds, suffix = '' }: InsertOptions): Texts {
  const idColumn = ID_COLUMNS[table]
  const columns = TABLES[table].filter((column) => keepsIds || column !== idColumn)
  const { postgres, sqlite } = givenRows(table, columns)
  const into = `insert into ${table} (${columns.join(', ')})`
  const overriding = keepsIds && idColumn !== undefined ? 'overriding system value' : ''
  return { postgres: `${into} ${overriding} ${postgres} ${suffix}`, sqlite: `${into} ${sqlite} ${suffix}` }
}

/**
 * Deletes the rows whose keys a subquery lists, such as a batch in the order of an index. PostgreSQL looks up each key: it would take the
 * batch for a large part of the table, and read all of it.
 */
export function deleteListed(table: string, key: string, list: string): Statement<unknown> {
  return statement(`delete from ${table} where ${key} = any (array(${list}))`, `delete from ${table} where ${key} in (${list})`)
}
