import { DatabaseSync } from 'node:sqlite'
import { type AppliedMigration, CREATE_HISTORY, MIGRATIONS_FOLDER, READ_HISTORY, readMigrations } from '../migrations.ts'
import { compareSchemas, type SchemaDifference, type SchemaObject } from './schema-comparison.ts'

// SQLite creates these tables itself, for its statistics. No other program can create tables with these names.
const READ_OBJECTS = `
  select type || ' ' || name as name, tbl_name || ': ' || coalesce(sql, '') as definition,
    exists (
      select 1 from pragma_index_list(tbl_name) as listed where listed.name = sqlite_schema.name and not listed."unique" and not listed.partial
    ) and not exists (select 1 from pragma_index_info(sqlite_schema.name) as indexed where indexed.name is null) as isPlainIndex
  from sqlite_schema
  where not (type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4'))`

/** Compares a database of this or an earlier version with what its migrations create. */
export function compareSqliteSchema(connection: DatabaseSync): SchemaDifference[] {
  // The statement selects these columns.
  const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
  return compareSchemas(expectedObjects(applied), objectsOf(connection))
}

function expectedObjects(applied: readonly AppliedMigration[]): SchemaObject[] {
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

function objectsOf(connection: DatabaseSync): SchemaObject[] {
  return connection.prepare(READ_OBJECTS).all() as SchemaObject[]
}
