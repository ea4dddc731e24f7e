import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import postgres from 'postgres'
import { statement } from '../../../src/storage/database.ts'
import { withinPostgres } from '../../../src/storage/maintenance/transfer-postgres.ts'
import { migrate } from '../../../src/storage/open.ts'
import { TABLES } from '../../../src/storage/tables.ts'
import { startApp } from '../../support/app/start-app.ts'
import { emptyPostgres, test } from '../../support/databases/databases.ts'

/** Tables that are not copied: the history of migrations, the id of the database, running processes, counted requests, challenges of five minutes, sign-in mails, codes of hand-offs, and tables that the target derives itself. */
const NOT_MOVED =
  /^(schema_migrations|instance|activity|rate_limits|secret_holders|login_challenges|used_challenges|email_sign_ins|hand_offs|users_search.*|sqlite_.*)$/

/** A column that the target derives itself. */
const DERIVED = 'webhook_deliveries.waits_for'

const COLUMNS = statement<{ table_name: string; column_name: string }>({
  postgres: `select table_name, column_name from information_schema.columns where table_schema = current_schema()`,
  sqlite: `select tables.name as table_name, columns.name as column_name from sqlite_schema as tables, pragma_table_info(tables.name) as columns
  where tables.type = 'table'`,
})

test('every column of every table is copied to another database', async (t) => {
  const { db } = await startApp(t)
  const columns = (await db.all(COLUMNS)).filter(({ table_name }) => !NOT_MOVED.test(table_name))
  const inDatabase = columns.map(({ table_name, column_name }) => `${table_name}.${column_name}`).filter((column) => column !== DERIVED)
  const moved = Object.entries(TABLES).flatMap(([table, names]) => names.map((name) => `${table}.${name}`))
  assert.deepEqual(moved.sort(), inDatabase.sort())
})

plainTest('PostgreSQL: the server ends a transfer whose process was suspended or lost', async (t) => {
  const url = await emptyPostgres(t)
  await migrate({ kind: 'postgres', url })
  const sql = postgres(url, { max: 1 })
  await sql.unsafe(`
    create function show_timeout() returns trigger language plpgsql as
    $$ begin raise 'idle for %', current_setting('idle_in_transaction_session_timeout'); end $$;
    create trigger show_timeout before insert on webhook_stops for each row execute function show_timeout()`)
  await sql.end()
  const row = { endpoint: 'https://example.com', stopped_at: 1 }
  const moving = withinPostgres(url, 'target', (side) => side.insert('webhook_stops', [row]))
  await assert.rejects(moving, { message: 'idle for 1h' })
})
