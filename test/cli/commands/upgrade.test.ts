import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statfsSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest } from 'node:test'
import postgres from 'postgres'
import { describe } from '../../../src/cli/commands/service.commands.ts'
import { MIGRATIONS_FOLDER, readMigrations } from '../../../src/storage/migrations.ts'
import { migrate } from '../../../src/storage/open.ts'
import { until } from '../../support/app/eventually.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { type ContractContext, temporaryFolder, test } from '../../support/databases/databases.ts'
import { emptyDatabase, migrateAsEarlier, migrateAsLater, newestNumber } from '../../support/databases/later-schema.ts'
import { done, refusedWith, runLatchkey } from '../../support/processes/command-line.ts'
import { problems } from '../../support/processes/doctor.ts'
import { finished, LATCHKEY, startNode } from '../../support/processes/processes.ts'

const OF_THE_FIRST_RELEASE = '0002'

async function place(t: ContractContext) {
  const target = await emptyDatabase(t, t.database)
  const options = { cwd: temporaryFolder(t), env: { DATABASE_URL: target.setting, SECRET_KEY: TEST_SECRET } }
  const check = (...args: string[]) => runLatchkey(['upgrade', '--check', ...args], options)
  return { target, options, check }
}

test('upgrade --check says that nothing is pending, and needs --check', async (t) => {
  const { target, check, options } = await place(t)
  await migrate(target)
  done(await check(), 'No migration is pending. The database is up to date.\n')
  refusedWith(await runLatchkey(['upgrade'], options), 2, "required option '--check' not specified")
  refusedWith(
    await check('--max-wait', 'long'),
    2,
    "option '--max-wait <seconds>' argument 'long' is invalid. should be a number of seconds from 0.1 to 86400.",
  )
})

test('upgrade --check reports time, locks and size of the migrations since the first release', async (t) => {
  const { target, check } = await place(t)
  await migrateAsEarlier(t, target, OF_THE_FIRST_RELEASE)
  const pending = readMigrations(`${MIGRATIONS_FOLDER}/${t.database}`)
    .map(({ name }) => name)
    .filter((name) => name.slice(0, 4) > OF_THE_FIRST_RELEASE)
  // A busy machine may need more than the second that makes an upgrade heavy.
  const { code, stdout, stderr } = await check('--json', '--max-wait', '600')
  const report = JSON.parse(stdout)
  assert.deepEqual({ code, stderr }, { code: report.verdict === 'harmless' ? 0 : 3, stderr: '' })
  assert.deepEqual(report.pending, pending)
  assert.deepEqual(
    report.steps.map(({ migration }: { migration: string }) => migration),
    pending,
  )
  assert.ok(report.waits.length > 0 && report.bytes.after > report.bytes.before && report.bytes.log > 0, stdout)
  const { stdout: text } = await check('--max-wait', '600')
  assert.match(text, new RegExp(`^${pending.length} migrations are pending\\. They were tried .*; nothing was changed\\.$`, 'm'))
  assert.match(text, /^Time: {3}\d/m)
  assert.match(text, /^Locks: {2}\S/m)
  assert.match(text, /^Size: {3}\+\d/m)
  assert.match(text, /^(Harmless|Heavy): /m)
})

test('upgrade --check accepts a newer schema that this version can use, and refuses another in one line', async (t) => {
  const usable = await place(t)
  await migrateAsLater(t, usable.target, {
    '9999-later.sql': `-- usable-from: ${newestNumber(t.database)}\ncreate table later (i bigint);`,
  })
  done(await usable.check(), 'A newer version has applied 9999-later.sql. This version can use the database; nothing is pending.\n')
  const unusable = await place(t)
  await migrateAsLater(t, unusable.target, { '9999-later.sql': 'create table later (i bigint);' })
  refusedWith(
    await unusable.check(),
    1,
    'The database was migrated by a newer version of Latchkey (it has 9999-later.sql); install that version or a later one',
  )
})

plainTest('PostgreSQL: a migration finds the indexes that were built before it, as the documentation says', async (t) => {
  const { target, options } = await place(Object.assign(t, { database: 'postgres' as const }))
  await migrateAsEarlier(t, target, '0021')
  const sql = postgres(target.kind === 'postgres' ? target.url : '', { max: 1, onnotice: () => undefined })
  const built = readFileSync('docs/upgrading.md', 'utf8').match(/^create index concurrently .*;$/gm) ?? []
  assert.equal(built.length, 2)
  for (const statement of built) await sql.unsafe(statement)
  const idsOf = async () => (await sql`select oid from pg_class where relname like 'api_keys_by_%' order by oid`).map(({ oid }) => oid)
  const before = await idsOf()
  await migrate(target)
  assert.deepEqual(await idsOf(), before)
  await sql.end()
  const findings = JSON.parse((await runLatchkey(['doctor', '--json'], options)).stdout)
  assert.deepEqual(problems(findings, 'schema'), [])
})

plainTest('PostgreSQL: a heavy upgrade is stopped before requests wait for long, and has exit code 3', async (t) => {
  const { target, check } = await place(Object.assign(t, { database: 'postgres' as const }))
  await migrateAsEarlier(t, target, OF_THE_FIRST_RELEASE)
  const sql = postgres(target.kind === 'postgres' ? target.url : '', { max: 1, onnotice: () => undefined })
  t.after(() => sql.end())
  // As on a large table, an index takes long.
  await sql.unsafe(`
    create function linger() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
    create event trigger linger on ddl_command_end when tag in ('CREATE INDEX') execute function linger()`)
  const { code, stdout, stderr } = await check('--max-wait', '0.2')
  assert.deepEqual({ code, stderr }, { code: 3, stderr: '' })
  assert.match(stdout, /^ {2}0003-search-copy\.sql +stopped after /m)
  assert.match(stdout, /^Locks: {2}writes of users wait for /m)
  assert.match(
    stdout,
    /^Heavy: 0003-search-copy\.sql makes requests wait for longer than .* The trial was stopped there, to keep requests from waiting longer/m,
  )
  assert.match(stdout, /upgrade --check --max-wait 3600$/m)
  const report = JSON.parse((await check('--json', '--max-wait', '0.2')).stdout)
  assert.deepEqual({ verdict: report.verdict, stopped: report.stopped.migration }, { verdict: 'heavy', stopped: '0003-search-copy.sql' })
})

plainTest('SQLite: the copy of an interrupted check is removed', async (t) => {
  const { target, options } = await place(Object.assign(t, { database: 'sqlite' as const }))
  await migrateAsEarlier(t, target, OF_THE_FIRST_RELEASE)
  const file = target.kind === 'sqlite' ? target.file : ''
  const connection = new DatabaseSync(file)
  connection.exec(`
    insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, created_at)
    values ('a', 'a', '', '', '', '', '', 'user', 0);
    create table endless (i integer);
    create view slow as with recursive n (i) as (select 1 union all select i + 1 from n where i < 4000000000) select max(i) as i from n;
    create trigger wait after insert on schema_migrations begin insert into endless select i from slow; end`)
  connection.close()
  const folder = dirname(file)
  const copies = () => readdirSync(folder).filter((name) => name.startsWith('.latchkey-upgrade-check-'))
  const child = startNode(t, LATCHKEY, ['upgrade', '--check'], options)
  const ended = finished(child)
  await until('the copy is being migrated', () => copies().some((name) => existsSync(`${folder}/${name}/copy.db-wal`)), 60_000)
  assert.equal(copies().length, 1)
  child.kill('SIGINT')
  assert.deepEqual(await ended, { code: 130, signal: null, stdout: '', stderr: 'latchkey: interrupted; nothing was changed\n' })
  assert.deepEqual(copies(), [])
})

plainTest('SQLite: a disk without room for the copy is reported before anything is copied', async (t) => {
  const { target, check } = await place(Object.assign(t, { database: 'sqlite' as const }))
  await migrateAsEarlier(t, target, OF_THE_FIRST_RELEASE)
  const file = target.kind === 'sqlite' ? target.file : ''
  const { bavail, bsize } = statfsSync(dirname(file))
  // A file with a hole, which takes no room itself.
  truncateSync(file, bavail * bsize)
  const { code, stdout, stderr } = await check()
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
  assert.match(stderr, /^latchkey: the copy needs up to \d+ MB in \S+, where \d+ MB are free; nothing was copied\. Free some space, .*\n$/)
  assert.deepEqual(
    readdirSync(dirname(file)).filter((name) => name.startsWith('.latchkey')),
    [],
  )
})

plainTest('the report tells a harmless upgrade and a heavy one apart in its last lines', () => {
  const trial = {
    pending: ['0020-new.sql'],
    newer: [],
    steps: [{ name: '0020-new.sql', tookMs: 12_340 }],
    tookMs: 12_340,
    waits: [{ table: 'users', blocks: 'writes' as const, forMs: 12_000 }],
    size: { before: 100e6, after: 130e6, indexGrowth: 30e6, log: 31e6 },
    stopped: undefined,
  }
  assert.deepEqual(describe(trial, 'heavy', 'postgres'), [
    '1 migration is pending. It was tried in a transaction, which was rolled back; nothing was changed.',
    '',
    '  0020-new.sql  12.3 s',
    '',
    'Time:   12.3 s.',
    'Locks:  writes of users wait for 12.0 s.',
    'Size:   +30.0 MB, from 100.0 MB to 130.0 MB (tables +0.0 MB, indexes +30.0 MB). The write-ahead log takes 31.0 MB.',
    '',
    'Heavy: requests wait for up to 12.0 s. Those that wait for longer than 2 seconds are answered with 503, and succeed afterwards.',
    'Upgrade when few people use the service, after a backup.',
  ])
  const quick = { ...trial, steps: [{ name: '0020-new.sql', tookMs: 4.2 }], tookMs: 4.2, waits: [] }
  assert.deepEqual(describe(quick, 'harmless', 'postgres').slice(2), [
    '  0020-new.sql  5 ms',
    '',
    'Time:   5 ms.',
    'Locks:  none that a request waits for.',
    'Size:   +30.0 MB, from 100.0 MB to 130.0 MB (tables +0.0 MB, indexes +30.0 MB). The write-ahead log takes 31.0 MB.',
    '',
    'Harmless: no request waits. The other processes keep serving.',
  ])
})
