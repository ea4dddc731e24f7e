import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { examine } from '../../../src/doctor/examine.ts'
import { type Database, declaredStatements, statement } from '../../../src/storage/database.ts'
import { openPostgres } from '../../../src/storage/postgres/driver.ts'
import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { demandingPrimary } from '../../../src/storage/postgres/queries.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { emptyPostgres, freshDatabase, temporaryFolder } from '../../support/databases/databases.ts'
import { problems } from '../../support/processes/doctor.ts'
import '../../../src/services.ts'

async function postgresUrl(t: TestContext): Promise<string> {
  return (await freshDatabase(t, 'postgres')).setting
}

function open(t: TestContext, url: string): Database {
  const db = openPostgres({ url })
  t.after(() => db.close())
  return db
}

const READ_SESSION = statement<{ prepared: number; jit: string; timeout: string; idle: string }>(`
  select (select count(*) from pg_prepared_statements) as prepared, current_setting('jit') as jit,
    current_setting('statement_timeout') as timeout, current_setting('idle_in_transaction_session_timeout') as idle`)

test('a connection has its settings and prepared statements; behind a pooler it has neither', async (t) => {
  const url = await postgresUrl(t)
  const [direct, pooled] = [open(t, url), open(t, `${url}?pooler=transaction`)]
  await direct.transaction((tx) => tx.first(READ_SESSION))
  const own = { prepared: 1, jit: 'off', timeout: '5s', idle: '10s' }
  assert.deepEqual({ ...(await direct.transaction((tx) => tx.first(READ_SESSION))) }, own)
  for (let round = 0; round < 3; round++) await pooled.transaction((tx) => tx.first(READ_SESSION))
  const shared = await pooled.transaction((tx) => tx.first(READ_SESSION))
  assert.deepEqual([shared?.prepared, shared?.timeout, shared?.idle], [0, '0', '0'])
})

test('PostgreSQL ends a long transaction whose process was suspended or lost, also behind a pooler', async (t) => {
  const url = await postgresUrl(t)
  for (const db of [open(t, url), open(t, `${url}?pooler=transaction`)]) {
    const long = await db.transaction((tx) => tx.first(READ_SESSION), { isLong: true })
    assert.deepEqual([long?.timeout, long?.idle], ['1min', '10s'])
  }
})

test('the condition that demands the primary can be added to every read of the service', async (t) => {
  const db = open(t, await postgresUrl(t))
  const reads = declaredStatements().filter(({ isRead }) => isRead)
  assert.ok(reads.length > 50, `${reads.length} reads`)
  const texts = reads.flatMap(({ sql, hot }) => (hot ? [sql, hot.gatheredSql] : [sql]))
  await db.transaction(async (tx) => {
    // PostgreSQL checks a statement when it prepares it.
    for (const [index, text] of texts.entries())
      await tx.run({ index: -1, sql: `prepare checked_${index} as ${demandingPrimary(text)}`, sqliteSql: '', isRead: false, isLong: true })
    for (const index of texts.keys())
      await tx.run({ index: -1, sql: `deallocate checked_${index}`, sqliteSql: '', isRead: false, isLong: true })
  })
})

test('the timeouts that a role needs behind a pooler do not end a migration', async (t) => {
  const url = await emptyPostgres(t)
  const folder = temporaryFolder(t)
  const names = ['statement_timeout', 'idle_in_transaction_session_timeout']
  const values = names.map((name) => `current_setting('${name}') as ${name}`)
  writeFileSync(join(folder, '0001-seen.sql'), `create table seen as select ${values.join(', ')};`)
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 0 }))
  for (const name of names) await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set ${name} = '5s'`)
  await migratePostgres(`${url}?pooler=transaction`, { folder })
  assert.deepEqual([...(await sql`select * from seen`)], [{ statement_timeout: '0', idle_in_transaction_session_timeout: '10s' }])
})

test('doctor: a URL that names a pooler where there is none', async (t) => {
  const url = await postgresUrl(t)
  const findings = async (query: string) =>
    problems(await examine({ DATABASE_URL: url + query, SECRET_KEY: TEST_SECRET, PORT: '0' }), 'pooler')
  assert.deepEqual(await findings(''), [])
  assert.deepEqual(await findings('?pooler=transaction'), ['warning: DATABASE_URL says pooler=transaction, but leads to PostgreSQL itself'])
})
