/** The columns of a table that rows bring with them. A row is an object with these names. */
export type RowColumns = { readonly table: string; readonly columns: readonly string[] }

/** Rows of a table that a statement gets as one JSON text, `$1`, on PostgreSQL and on SQLite. */
export function givenRows({ table, columns }: RowColumns): { readonly postgres: string; readonly sqlite: string } {
  return {
    // The row type of the table converts each value, such as 0 and 1 to a boolean.
    postgres: `select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1::text::json)`,
    sqlite: `select ${columns.map((column) => `value ->> '${column}' as ${column}`).join(', ')} from json_each($1) where true`,
  }
}

/** The texts of an `insert` of any number of rows. The suffix may be an `on conflict` or a `returning`. */
export function insertRows(rows: RowColumns, suffix = '', overriding = ''): { readonly postgres: string; readonly sqlite: string } {
  const { postgres, sqlite } = givenRows(rows)
  const into = `insert into ${rows.table} (${rows.columns.join(', ')})`
  return { postgres: `${into} ${overriding} ${postgres} ${suffix}`, sqlite: `${into} ${sqlite} ${suffix}` }
}
