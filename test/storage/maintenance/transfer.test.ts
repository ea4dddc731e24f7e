import assert from 'node:assert/strict'
import { statement } from '../../../src/storage/database.ts'
import { TABLES } from '../../../src/storage/tables.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

/** Tables that are not copied: the history of migrations, the id of the database, running processes, counted requests, and tables that the target derives itself. */
const NOT_MOVED = /^(schema_migrations|instance|activity|rate_limits|secret_holders|users_search.*|sqlite_.*)$/

const COLUMNS = statement<{ table_name: string; column_name: string }>(
  `select table_name, column_name from information_schema.columns where table_schema = current_schema()`,
  `select tables.name as table_name, columns.name as column_name from sqlite_schema as tables, pragma_table_info(tables.name) as columns
  where tables.type = 'table'`,
)

test('every column of every table is copied to another database', async (t) => {
  const { db } = await startApp(t)
  const columns = (await db.all(COLUMNS)).filter(({ table_name }) => !NOT_MOVED.test(table_name))
  const inDatabase = columns.map(({ table_name, column_name }) => `${table_name}.${column_name}`)
  const moved = Object.entries(TABLES).flatMap(([table, names]) => names.map((name) => `${table}.${name}`))
  assert.deepEqual(moved.sort(), inDatabase.sort())
})
