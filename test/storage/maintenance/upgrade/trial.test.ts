import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest } from 'node:test'
import postgres from 'postgres'
import type { DatabaseTarget } from '../../../../src/storage/database.ts'
import { type Trial, TrialError, verdictOf, type Wait } from '../../../../src/storage/maintenance/upgrade/trial.ts'
import { tryUpgrade } from '../../../../src/storage/maintenance/upgrade/try-upgrade.ts'
import { migrate } from '../../../../src/storage/open.ts'
import { until } from '../../../support/app/eventually.ts'
import { type ContractContext, test } from '../../../support/databases/databases.ts'
import { emptyDatabase, furtherMigrations } from '../../../support/databases/later-schema.ts'

const NEXT = '9999-next.sql'
const A_MINUTE = 60_000
const uninterrupted = () => undefined

/** A migrated database, and a version with a further migration. */
async function place(t: ContractContext, sql: string) {
  const target = await emptyDatabase(t, t.database)
  await migrate(target)
  const folder = furtherMigrations(t, t.database, { [NEXT]: sql })
  const trial = async (maxWaitMs = A_MINUTE, check: () => void = uninterrupted) =>
    (await tryUpgrade(target, { maxWaitMs, check, folder })) ?? assert.fail('there is no database')
  return { target, trial }
}

/** The schema and the history, as text. */
async function stateOf(target: DatabaseTarget): Promise<string> {
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    const rows = ['select * from schema_migrations', 'select sql from sqlite_schema'].map((sql) => connection.prepare(sql).all())
    connection.close()
    return JSON.stringify([rows, readdirSync(dirname(target.file)).filter((name) => !/-(wal|shm)$/.test(name))])
  }
  const sql = postgres(target.url, { max: 1 })
  const rows = [
    await sql`select * from schema_migrations`,
    await sql`select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2`,
  ]
  await sql.end()
  return JSON.stringify(rows)
}

test('a harmless migration is tried, measured and not applied', async (t) => {
  const { target, trial } = await place(t, 'create table next (i bigint); insert into next values (1); create index next_by_i on next (i);')
  const before = await stateOf(target)
  const { pending, newer, steps, stopped, size, tookMs } = await trial()
  assert.deepEqual(
    { pending, newer, stopped, tried: steps.map(({ name }) => name) },
    { pending: [NEXT], newer: [], stopped: undefined, tried: [NEXT] },
  )
  assert.ok(tookMs > 0 && steps.every((step) => step.tookMs > 0))
  assert.ok(size.before > 0 && size.after > size.before && size.log > 0, JSON.stringify(size))
  assert.equal(await stateOf(target), before)
})

test('nothing is tried if no migration is pending, and an unusable newer schema is refused', async (t) => {
  const { target } = await place(t, 'create table next (i bigint);')
  const options = { maxWaitMs: A_MINUTE, check: uninterrupted }
  const trial = (await tryUpgrade(target, options)) ?? assert.fail()
  assert.deepEqual(
    { ...trial, size: undefined },
    { pending: [], newer: [], steps: [], tookMs: 0, waits: [], stopped: undefined, size: undefined },
  )
  assert.equal(verdictOf(trial), 'nothing pending')
  const later = furtherMigrations(t, t.database, { [NEXT]: 'create table next (i bigint);' })
  const { migrateSqlite } = await import('../../../../src/storage/sqlite/migrations.ts')
  const { migratePostgres } = await import('../../../../src/storage/postgres/migrations.ts')
  await (target.kind === 'sqlite' ? migrateSqlite(target.file, { folder: later }) : migratePostgres(target.url, { folder: later }))
  await assert.rejects(tryUpgrade(target, options), {
    name: 'MigrationError',
    message: /newer version of Latchkey \(it has 9999-next\.sql\)/,
  })
})

test('a migration that fails on the data is reported with its error, and nothing is changed', async (t) => {
  const { target, trial } = await place(t, 'create table next (i bigint not null); insert into next values (null);')
  const before = await stateOf(target)
  await assert.rejects(trial(), { name: 'TrialError', message: /^the migrations fail on .*(NOT NULL|not-null)/ })
  assert.equal(await stateOf(target), before)
})

plainTest('SQLite: there is no trial without a database, and none is created', async (t) => {
  const target = await emptyDatabase(t, 'sqlite')
  assert.equal(await tryUpgrade(target, { maxWaitMs: A_MINUTE, check: uninterrupted }), undefined)
  assert.deepEqual(readdirSync(dirname(target.kind === 'sqlite' ? target.file : '')), [])
})

const onPostgres = (t: object) => Object.assign(t, { database: 'postgres' as const }) as ContractContext

plainTest('PostgreSQL: the locks of a migration on existing tables are reported, and those on new ones are not', async (t) => {
  const { trial } = await place(
    onPostgres(t),
    `create table next (i bigint references users (id)); create index on sessions (expires_at, id); alter table api_keys add column next text; select pg_sleep(0.2);`,
  )
  const { waits } = await trial()
  const found = Object.fromEntries(waits.map(({ table, blocks }) => [table, blocks]))
  assert.deepEqual(found, { users: 'writes', sessions: 'writes', api_keys: 'reads and writes' })
  // The migration sleeps for 200 ms with the locks, so no machine is too fast for this.
  for (const { forMs } of waits) assert.ok(forMs > 150, String(forMs))
})

plainTest('PostgreSQL: a migration that would make requests wait for long is stopped, and called heavy', async (t) => {
  const { target, trial } = await place(onPostgres(t), 'alter table users add column next text; select pg_sleep(600);')
  const before = await stateOf(target)
  const result = await trial(300)
  assert.deepEqual(
    { name: result.stopped?.name, steps: result.steps, verdict: verdictOf(result) },
    { name: NEXT, steps: [], verdict: 'heavy' },
  )
  assert.deepEqual(
    result.waits.map(({ table, blocks }) => ({ table, blocks })),
    [{ table: 'users', blocks: 'reads and writes' }],
  )
  assert.equal(await stateOf(target), before)
})

plainTest('PostgreSQL: a migration that changes rows makes logins wait, and is stopped and called heavy', async (t) => {
  const { target, trial } = await place(onPostgres(t), "update users set first_name = first_name || ''; select pg_sleep(600);")
  const before = await stateOf(target)
  const result = await trial(300)
  assert.deepEqual(
    { name: result.stopped?.name, verdict: verdictOf(result), waits: result.waits.map(({ table, blocks }) => ({ table, blocks })) },
    { name: NEXT, verdict: 'heavy', waits: [{ table: 'users', blocks: 'changes of the same rows' }] },
  )
  assert.equal(await stateOf(target), before)
})

plainTest('PostgreSQL: a migration that ends although it is stopped is heavy too', async (t) => {
  const { trial } = await place(
    onPostgres(t),
    'alter table users add column next text; do $$ begin perform pg_sleep(600); exception when query_canceled then null; end $$;',
  )
  const result = await trial(300)
  assert.deepEqual(
    { name: result.stopped?.name, steps: result.steps, verdict: verdictOf(result) },
    { name: NEXT, steps: [], verdict: 'heavy' },
  )
})

plainTest('PostgreSQL: a trial whose locks cannot be watched ends, and is rolled back', async (t) => {
  const { target, trial } = await place(
    onPostgres(t),
    `alter table users add column next text;
     do $$ begin
       loop
         perform pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'latchkey' and state = 'active' and pid <> pg_backend_pid();
         perform pg_stat_clear_snapshot();
         perform pg_sleep(0.001);
       end loop;
     end $$;`,
  )
  await assert.rejects(trial(), { name: 'TrialError', message: /^the locks could not be watched, so the trial was ended: / })
  const sql = postgres(target.kind === 'postgres' ? target.url : '', { max: 1 })
  t.after(() => sql.end())
  // The migration never ends, so this waits until the server has ended it.
  assert.deepEqual([...(await sql`select * from users`)], [])
})

plainTest('PostgreSQL: the server ends a trial whose process was suspended or lost', async (t) => {
  const { trial } = await place(
    onPostgres(t),
    "do $$ begin raise 'idle for %', current_setting('idle_in_transaction_session_timeout'); end $$;",
  )
  await assert.rejects(trial(), { name: 'TrialError', message: 'the migrations fail on this database: idle for 10s' })
})

plainTest('PostgreSQL: a long migration that nobody waits for is not stopped', async (t) => {
  const { trial } = await place(onPostgres(t), 'create table next (i bigint); select pg_sleep(1);')
  const result = await trial(100)
  assert.deepEqual(
    { stopped: result.stopped, waits: result.waits, verdict: verdictOf(result) },
    { stopped: undefined, waits: [], verdict: 'harmless' },
  )
})

plainTest('PostgreSQL: a trial does not queue for a table that is in use, and names the transaction that uses it', async (t) => {
  const { target, trial } = await place(onPostgres(t), 'alter table users add column next text;')
  const sql = postgres(target.kind === 'postgres' ? target.url : '', { max: 1, connection: { application_name: 'nightly-report' } })
  t.after(() => sql.end())
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const reading = sql.begin(async (tx) => {
    await tx`select * from users`
    held.resolve()
    await release.promise
  })
  await held.promise
  // On a busy machine, the look at the locks may come after the wait for the table.
  await until('a trial that has seen the locks', async () => {
    const error: unknown = await trial().catch((reason: unknown) => reason)
    assert.ok(error instanceof TrialError)
    assert.match(error.message, /^a lock was not available within 0\.5 seconds/)
    return /: users is in use by nightly-report \(process \d+ of PostgreSQL\), in a transaction/.test(error.message)
  })
  release.resolve()
  await reading
})

plainTest('PostgreSQL: an interruption ends the trial at once', async (t) => {
  const { target, trial } = await place(onPostgres(t), 'create table next (i bigint); select pg_sleep(600);')
  const before = await stateOf(target)
  let calls = 0
  const interrupted = new Error('interrupted')
  await assert.rejects(
    trial(A_MINUTE, () => {
      if (++calls > 5) throw interrupted
    }),
    interrupted,
  )
  assert.equal(await stateOf(target), before)
})

plainTest('requests that would wait for longer than a second make an upgrade heavy', () => {
  const wait = (forMs: number): Wait => ({ table: 'users', blocks: 'writes', forMs })
  const trial = (...waits: Wait[]): Trial => ({
    pending: [NEXT],
    newer: [],
    steps: [],
    tookMs: 9000,
    waits,
    size: { before: 0, after: 0, indexGrowth: 0, log: 0 },
    stopped: undefined,
  })
  assert.equal(verdictOf(trial()), 'harmless')
  assert.equal(verdictOf(trial(wait(1000), wait(3))), 'harmless')
  assert.equal(verdictOf(trial(wait(3), wait(1001))), 'heavy')
})
