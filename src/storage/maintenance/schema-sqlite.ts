import { DatabaseSync } from 'node:sqlite'
import { type AppliedMigration, CREATE_HISTORY, MIGRATIONS_FOLDER, READ_HISTORY, readMigrations } from '../migrations.ts'
import { compareSchemas, type SchemaDifference, type SchemaObject } from './schema-comparison.ts'

// SQLite creates these tables itself, for its statistics. No other program can create tables with these names.
const READ_OBJECTS = `
  select type || ' ' || name as name, lower(tbl_name) as "tableName", tbl_name || ': ' || coalesce(sql, '') as definition,
    exists (
      select 1 from pragma_index_list(tbl_name) as listed where listed.name = sqlite_schema.name and not listed."unique" and not listed.partial
    ) and not exists (select 1 from pragma_index_info(sqlite_schema.name) as indexed where indexed.name is null) as isPlainIndex
  from sqlite_schema
  where not (type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4'))`

type SqliteObject = SchemaObject & {
  /** In lower case: a trigger has the name of its table as its author wrote it. */
  readonly tableName: string
}

/** Compares a database with what its migrations create. In a newer schema, only the tables that this version knows can be compared. */
export function compareSqliteSchema(connection: DatabaseSync, isNewer = false): SchemaDifference[] {
  // The statement selects these columns.
  const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
  const expected = expectedObjects(applied)
  const known = new Set(expected.map(({ tableName }) => tableName))
  return compareSchemas(
    expected,
    objectsOf(connection).filter(({ tableName }) => !isNewer || known.has(tableName)),
  )
}

function expectedObjects(applied: readonly AppliedMigration[]): SqliteObject[] {
  const names = new Set(applied.map(({ name }) => name))
  const fresh = new DatabaseSync(':memory:')
  try {
    fresh.exec(CREATE_HISTORY)
    for (const { name, sql } of readMigrations(`${MIGRATIONS_FOLDER}/sqlite`)) if (names.has(name)) fresh.exec(sql)
    return objectsOf(fresh)
  } finally {
    fresh.close()
  }
}

function objectsOf(connection: DatabaseSync): SqliteObject[] {
  return connection.prepare(READ_OBJECTS).all() as SqliteObject[]
}
