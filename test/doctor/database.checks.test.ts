import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest } from 'node:test'
import postgres from 'postgres'
import { loadConfig } from '../../src/config/load.ts'
import { examine } from '../../src/doctor/examine.ts'
import { statement } from '../../src/storage/database.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { insertUser } from '../../src/storage/repositories/users/user.repository.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { emptyPostgres, freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { emptyDatabase } from '../support/databases/later-schema.ts'
import { problems, validSettings } from '../support/processes/doctor.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { freePort } from '../support/servers/free-port.ts'
import { startRawPeer } from '../support/servers/listen.ts'

plainTest('doctor reports a path where no database can be created, and one that this user cannot write', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'file'), '')
  const below = await examine({ DATABASE_URL: `sqlite:${folder}/file/latchkey.db`, PORT: '0' })
  assert.match(problems(below, 'database')[0] ?? '', /^error: .* cannot be used: a part of its path is a file/)
  const { file, folder: data } = await validSettings(t)
  chmodSync(join(data, '..'), 0o755)
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
  const doctorAt = async (modes: readonly [number, number]) => {
    chmodSync(data, modes[0])
    chmodSync(file, modes[1])
    const env = { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: TEST_SECRET, PORT: '0' }
    const { code, stdout } = await runNode(t, LATCHKEY, ['doctor', '--json'], { cwd: '/', env, ...(account && { account }) })
    chmodSync(data, 0o700)
    return { code, found: problems(JSON.parse(stdout), 'database')[0] ?? '' }
  }
  for (const modes of [
    [0o755, 0o444],
    [0o555, 0o666],
    [account ? 0o700 : 0o000, 0o600],
  ] as const) {
    const { code, found } = await doctorAt(modes)
    assert.equal(code, 1)
    assert.match(found, /^error: DATABASE_URL: the SQLite file .* cannot be used: this user may not write there/)
  }
})

plainTest('doctor reports a PostgreSQL database with the wrong encoding, and one where its user cannot create tables', async (t) => {
  const inspect = async (url: string) => problems(await examine({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET, PORT: '0' }), 'database')
  const [encoding = ''] = await inspect(await emptyPostgres(t, 'SQL_ASCII'))
  assert.match(encoding, /^error: PostgreSQL \S+ cannot be used: its encoding is SQL_ASCII, not UTF8$/)
  const url = await emptyPostgres(t)
  const role = `weak_${randomUUID().replaceAll('-', '')}`
  const sql = postgres(url, { max: 1 })
  await sql.unsafe(`create role ${role} login`)
  const [weak = ''] = await inspect(url.replace('//postgres@', `//${role}@`))
  await sql.unsafe(`drop role ${role}`)
  await sql.end()
  assert.match(weak, /^error: PostgreSQL \S+ cannot be used: its user may not create tables$/)
})

test('doctor reports a database that is missing, not migrated, or of a newer version', async (t) => {
  const url = t.database === 'sqlite' ? `sqlite:${temporaryFolder(t)}/new.db` : await emptyPostgres(t)
  const env = { DATABASE_URL: url, SECRET_KEY: TEST_SECRET, PORT: '0' }
  const [missing = ''] = problems(await examine(env), 'database')
  assert.match(
    missing,
    t.database === 'sqlite' ? /^warning: there is no database yet$/ : /^warning: PostgreSQL 18\S* answers; migrations are pending: 0001-/,
  )
  const target = loadConfig(env).database
  await migrate(target)
  assert.deepEqual(problems(await examine(env), 'database'), [])
  const db = await openDatabase(target)
  await db.run(NEWER)
  await db.close()
  assert.match(problems(await examine(env), 'database')[0] ?? '', /^error: DATABASE_URL: .* newer version of Latchkey/)
})

// Declared before any database is opened.
const NEWER = statement("insert into schema_migrations (name, checksum, applied_at) values ('9999-later.sql', 'x', 1)")
const UNABLE = statement("update users set banned = true where role = 'admin'")
const ADD_MAIL = statement('insert into outbox (kind, recipient, requested_at, due_at, failed_at) values ($1, $2, $3, $3, $4)')

plainTest('doctor reports a database that is damaged, unreachable or read-only', async (t) => {
  const { file, env } = await validSettings(t)
  writeFileSync(file, 'nonsense'.repeat(2000))
  assert.match(problems(await examine(env), 'database')[0] ?? '', /^error: DATABASE_URL: the SQLite file .* file is not a database$/)
  const away = { ...env, DATABASE_URL: `postgres://me:hunter22@127.0.0.1:${await freePort()}/x` }
  const [refused = ''] = problems(await examine(away), 'database')
  assert.match(refused, /^error: DATABASE_URL: the PostgreSQL database cannot be used: nothing is listening at its address/)
  assert.doesNotMatch(refused, /hunter22/)
  const silent = await startRawPeer(t, () => undefined)
  const hung = problems(await examine({ ...env, DATABASE_URL: `postgres://me@127.0.0.1:${silent.port}/x` }), 'database')
  assert.match(hung[0] ?? '', /^error: /)
  const url = await emptyPostgres(t)
  const database = new URL(url).pathname.slice(1)
  const sql = postgres(url, { max: 1 })
  await sql.unsafe(`alter database ${database} set default_transaction_read_only = on`)
  await sql.end()
  assert.match(problems(await examine({ ...env, DATABASE_URL: url }), 'database')[0] ?? '', /^error: PostgreSQL \S+ is read-only/)
})

test('doctor reports a trigger that was planted in the database', async (t) => {
  const target = await emptyDatabase(t, t.database)
  await migrate(target)
  const env = { SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.setting }
  assert.deepEqual(problems(await examine(env), 'schema'), [])
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    connection.exec("create trigger promote after insert on sessions begin update users set role = 'admin'; end")
    connection.close()
    assert.deepEqual(problems(await examine(env), 'schema'), ['error: trigger promote is not part of Latchkey'])
  } else {
    const sql = postgres(target.url, { max: 1 })
    await sql.unsafe("create rule promote as on insert to sessions do also update users set role = 'admin'")
    await sql.end()
    assert.deepEqual(problems(await examine(env), 'schema'), ['error: rule promote of sessions is not part of Latchkey'])
  }
})

test('doctor reports a planted trigger also in a schema that claims to be newer', async (t) => {
  const target = await emptyDatabase(t, t.database)
  await migrate(target)
  const forged = "insert into schema_migrations (name, checksum, applied_at, usable_from) values ('9999-x.sql', '', 1, '0001')"
  const column = 'alter table users add column planted integer'
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    connection.exec(`${forged}; ${column}; create table later (i bigint);
      create trigger of_later after insert on later begin delete from later; end;
      create trigger promote after insert on SESSIONS begin update users set role = 'admin'; end`)
    connection.close()
  } else {
    const sql = postgres(target.url, { max: 1 })
    await sql.unsafe(`${forged}; ${column}; create table later (i bigint);
      create function promote() returns trigger language plpgsql as $$ begin update users set role = 'admin'; return null; end $$;
      create trigger of_later after insert on later for each row execute function promote();
      create trigger promote after insert on sessions for each row execute function promote()`)
    await sql.end()
  }
  const findings = await examine({ SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.setting })
  const [first, ...differences] = problems(findings, 'schema')
  assert.equal(first, 'warning: could not be compared in full: it is newer than this version')
  assert.deepEqual(
    differences.sort(),
    t.database === 'sqlite'
      ? ['error: trigger promote is not part of Latchkey', 'warning: table users was changed']
      : [
          'error: function promote() is not part of Latchkey',
          'error: trigger promote of sessions is not part of Latchkey',
          'warning: column planted of users is not part of Latchkey',
        ],
  )
})

test('doctor reports a missing admin, admins who cannot log in, and pending and failed mails', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const env = { SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.setting }
  const db = await openDatabase(target)
  t.after(() => db.close())
  const empty = await examine(env)
  assert.deepEqual([problems(empty, 'admins'), problems(empty, 'outbox')], [['warning: there is no admin'], []])
  const names = { firstName: 'Ada', lastName: 'A', passwordHash: 'none', role: 'admin', verified: true, createdAt: 1 } as const
  await db.transaction((tx) => insertUser(tx, { ...names, email: 'ada@example.com', emailKey: 'ada@example.com' }))
  const now = Date.now()
  await db.run(ADD_MAIL, 'verify', 'a@example.com', now - 60_000, null)
  const good = await examine(env)
  assert.deepEqual([problems(good, 'admins'), problems(good, 'outbox')], [[], []])
  await db.run(UNABLE)
  await db.run(ADD_MAIL, 'reset', 'a@example.com', now - 1_200_000, null)
  await db.run(ADD_MAIL, 'verify', 'b@example.com', 1, 2)
  const bad = await examine(env)
  assert.deepEqual(problems(bad, 'admins'), ['error: none of 1 admin can log in: banned, or not verified'])
  assert.deepEqual(problems(bad, 'outbox'), [
    'error: 2 mails are pending, the oldest for 20 minutes',
    'warning: 1 mail could not be delivered',
  ])
})

test('doctor reports a clock that differs from the clock of the database server', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const env = { SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.setting }
  const found = problems(await examine(env, { now: () => Date.now() - 3_600_000 }), 'clock')
  // SQLite has the clock of this machine.
  assert.deepEqual(
    found.map((line) => line.replace(/\d+/, 'N')),
    t.database === 'sqlite' ? [] : ['error: N seconds behind the database server'],
  )
})
