import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFileSync, cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { MIGRATIONS_FOLDER, type Migration } from '../../src/storage/migrations.ts'
import { migratePostgres } from '../../src/storage/postgres/migrations.ts'
import { migrateSqlite } from '../../src/storage/sqlite/migrations.ts'
import { until } from '../support/app/eventually.ts'
import { type ContractContext, type DatabaseKind, emptyPostgres, temporaryFolder, test } from '../support/databases/databases.ts'
import { finished, startNode } from '../support/processes/processes.ts'

type Subject = {
  readonly kind: DatabaseKind
  readonly database: string
  /** A copy of the migrations, which the test may change. */
  readonly folder: string
  migrate(): Promise<Migration[]>
  tables(): Promise<string[]>
  /** Whether another process is running a migration. */
  isMigrating(): Promise<boolean>
}

const PROCESSES = 4
const MIGRATE = fileURLToPath(new URL('../support/processes/migrate-process.ts', import.meta.url))
// Each statement runs longer than any test waits. PostgreSQL ends its one when it notices that the client is gone.
const SLOW_STATEMENT: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'insert into slow with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000000000) select max(i) from n;',
  postgres: 'set local client_connection_check_interval = 100; select pg_sleep(120);',
}

async function subject(t: ContractContext): Promise<Subject> {
  const folder = copyOfMigrations(t, t.database)
  return t.database === 'sqlite' ? sqliteSubject(t, folder) : postgresSubject(t, folder)
}

function copyOfMigrations(t: TestContext, kind: DatabaseKind): string {
  const folder = join(temporaryFolder(t), 'migrations')
  cpSync(join(MIGRATIONS_FOLDER, kind), folder, { recursive: true })
  return folder
}

function sqliteSubject(t: TestContext, folder: string): Subject {
  const database = join(temporaryFolder(t), 'latchkey.db')
  const query = <Row>(sql: string) => {
    const connection = new DatabaseSync(database)
    try {
      return connection.prepare(sql).all() as Row[]
    } finally {
      connection.close()
    }
  }
  return {
    kind: 'sqlite',
    database,
    folder,
    migrate: () => migrateSqlite(database, { folder }),
    tables: async () =>
      query<{ name: string }>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'").map(({ name }) => name),
    // Everything before the slow statement takes milliseconds, so a lock that is held longer belongs to that statement.
    isMigrating: async () => existsSync(database) && isLocked(database) && (await sleep(500, true)) && isLocked(database),
  }
}

function isLocked(database: string): boolean {
  const connection = new DatabaseSync(database, { timeout: 0 })
  try {
    connection.exec('begin immediate; rollback')
    return false
  } catch (error) {
    assert.match(String(error), /database is locked/)
    return true
  } finally {
    connection.close()
  }
}

async function postgresSubject(t: ContractContext, folder: string): Promise<Subject> {
  const database = await emptyPostgres(t)
  const sql = postgres(database, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end())
  return {
    kind: 'postgres',
    database,
    folder,
    migrate: () => migratePostgres(database, { folder }),
    tables: async () => (await sql`select tablename from pg_tables where schemaname = 'public'`).map(({ tablename }) => String(tablename)),
    isMigrating: async () => {
      const rows = await sql`
        select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and wait_event = 'PgSleep'`
      return rows.length > 0
    },
  }
}

function migrateElsewhere(t: ContractContext, { kind, database, folder }: Subject) {
  return startNode(t, MIGRATE, [kind, database, folder], { cwd: folder })
}

test('if several processes start at once, one migrates and the others wait for it', async (t) => {
  const shared = await subject(t)
  const names = readdirSync(shared.folder).sort()
  const results = await Promise.all(Array.from({ length: PROCESSES }, () => finished(migrateElsewhere(t, shared))))
  assert.deepEqual(
    results.map(({ code, stderr }) => ({ code, stderr })),
    results.map(() => ({ code: 0, stderr: '' })),
  )
  const applied = results.map(({ stdout }) => JSON.parse(stdout) as string[]).filter((list) => list.length > 0)
  assert.deepEqual(applied, [names])
  assert.deepEqual(await shared.migrate(), [])
})

test('a process that is killed during a migration leaves nothing behind, and the next start migrates', async (t) => {
  const killed = await subject(t)
  const slowFile = join(killed.folder, '9999-slow.sql')
  writeFileSync(slowFile, `create table slow (i bigint); ${SLOW_STATEMENT[killed.kind]}`)
  const child = migrateElsewhere(t, killed)
  await until('the slow statement runs', () => killed.isMigrating())
  child.kill('SIGKILL')
  await once(child, 'exit')

  assert.deepEqual(await killed.tables(), [])
  rmSync(slowFile)
  const names = readdirSync(killed.folder).sort()
  assert.deepEqual(
    (await killed.migrate()).map(({ name }) => name),
    names,
  )
  assert.ok((await killed.tables()).includes('users'))
})

test('a migration that fails is rolled back together with those before it', async (t) => {
  const failing = await subject(t)
  writeFileSync(join(failing.folder, '9999-wrong.sql'), 'create table half (i bigint); insert into nowhere values (1);')
  await assert.rejects(failing.migrate(), /nowhere/)
  assert.deepEqual(await failing.tables(), [])
})

test('a database that was migrated by a newer version is refused and not changed', async (t) => {
  const { folder, migrate, tables } = await subject(t)
  const newer = join(folder, '9999-newer.sql')
  writeFileSync(newer, 'create table newer (i bigint);')
  await migrate()
  rmSync(newer)
  await assert.rejects(migrate(), {
    name: 'MigrationError',
    message: 'The database was migrated by a newer version of Latchkey (it has 9999-newer.sql); install that version or a later one',
  })
  assert.ok((await tables()).includes('newer'))
})

test('a migration that was edited after it had been applied is refused', async (t) => {
  const { folder, migrate } = await subject(t)
  await migrate()
  appendFileSync(join(folder, '0001-accounts.sql'), '\n-- edited')
  await assert.rejects(migrate(), {
    name: 'MigrationError',
    message: 'Migration 0001-accounts.sql was edited after it had been applied to this database; restore its text',
  })
})

plainTest('SQLite: a migration can rebuild a table without losing the rows that reference it', async (t) => {
  const { folder, migrate, database } = sqliteSubject(t, copyOfMigrations(t, 'sqlite'))
  await migrate()
  const connection = new DatabaseSync(database)
  t.after(() => connection.close())
  connection.exec(`
    insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, created_at)
    values ('a', 'a', '', '', '', '', '', 'user', 0);
    insert into sessions (id, user_id, created_at, expires_at) values ('s', 1, 0, 0)`)
  writeFileSync(
    join(folder, '9999-rebuild.sql'),
    `create table rebuilt (id integer primary key autoincrement, email text not null) strict;
     insert into rebuilt select id, email from users; drop table users; alter table rebuilt rename to users;`,
  )
  await migrate()
  assert.equal(connection.prepare('select count(*) as sessions from sessions').get()?.['sessions'], 1)
})

plainTest('a migration that leaves broken references is rolled back', async (t) => {
  const { folder, migrate, tables } = sqliteSubject(t, copyOfMigrations(t, 'sqlite'))
  writeFileSync(join(folder, '9999-broken.sql'), "insert into sessions (id, user_id, created_at, expires_at) values ('s', 7, 0, 0);")
  await assert.rejects(migrate(), { name: 'MigrationError', message: 'A migration leaves broken references' })
  assert.deepEqual(await tables(), [])
})

plainTest('PostgreSQL: a migration that cannot get a table lets requests pass, and gets it when it is free', async (t) => {
  const { database, folder, migrate } = await postgresSubject(
    Object.assign(t, { database: 'postgres' as const }),
    copyOfMigrations(t, 'postgres'),
  )
  await migrate()
  writeFileSync(join(folder, '9999-alter.sql'), 'alter table users add column next text;')
  // A statement that waits for the migration fails, and does not wait forever.
  const sql = postgres(database, { max: 2, connection: { statement_timeout: 60_000 } })
  t.after(() => sql.end({ timeout: 0 }))
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const report = sql.begin(async (tx) => {
    await tx`select * from users`
    held.resolve()
    await release.promise
  })
  await held.promise
  const migrating = migrate()
  await until(
    'the migration waits for the table',
    async () =>
      (await sql`select 1 from pg_locks join pg_database on pg_database.oid = database where datname = current_database() and not granted`)
        .length > 0,
  )
  // It queues behind the migration, and would wait for the report to end if the migration did.
  assert.deepEqual([...(await sql`select count(*)::integer as users from users`)], [{ users: 0 }])
  release.resolve()
  await report
  assert.deepEqual(
    (await migrating).map(({ name }) => name),
    ['9999-alter.sql'],
  )
})

plainTest('PostgreSQL: a migration that PostgreSQL ends because of a deadlock with a request is tried again', async (t) => {
  const { database, folder, migrate } = await postgresSubject(
    Object.assign(t, { database: 'postgres' as const }),
    copyOfMigrations(t, 'postgres'),
  )
  await migrate()
  writeFileSync(join(folder, '9999-alter.sql'), 'alter table users add column next text; alter table sessions add column next text;')
  // The request never gives way: the migration has to.
  const sql = postgres(database, { max: 2, connection: { deadlock_timeout: 60_000 } as object })
  t.after(() => sql.end({ timeout: 0 }))
  const [held, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const request = sql.begin(async (tx) => {
    await tx`select * from sessions`
    held.resolve()
    await goesOn.promise
    return tx`select count(*)::integer as users from users`
  })
  await held.promise
  const migrating = migrate()
  await until(
    'the migration waits for the second table',
    async () => (await sql`select 1 from pg_locks where relation = 'sessions'::regclass and not granted`).length > 0,
  )
  goesOn.resolve()
  assert.deepEqual([...(await request)], [{ users: 0 }])
  assert.deepEqual(
    (await migrating).map(({ name }) => name),
    ['9999-alter.sql'],
  )
})

plainTest(
  'PostgreSQL: a migration waits for a lock for less time than a request does, and long enough for an autovacuum to give way',
  async (t) => {
    const database = await emptyPostgres(t)
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, '0001-seen.sql'), "create table seen as select current_setting('lock_timeout') as lock_timeout;")
    await migratePostgres(database, { folder })
    const sql = postgres(database, { max: 1 })
    t.after(() => sql.end())
    assert.deepEqual([...(await sql`select * from seen`)], [{ lock_timeout: '1500ms' }])
  },
)

plainTest('a PostgreSQL database whose encoding is not UTF-8 is refused and not changed', async (t) => {
  for (const encoding of ['LATIN1', 'SQL_ASCII']) {
    const url = await emptyPostgres(t, encoding)
    await assert.rejects(migratePostgres(url), {
      message: `its encoding is ${encoding}, not UTF8: create it with encoding 'UTF8' template template0`,
    })
    const sql = postgres(url, { max: 1 })
    assert.deepEqual([...(await sql`select tablename from pg_tables where schemaname = 'public'`)], [])
    await sql.end()
  }
})

plainTest('SQLite: rebuilding the outbox keeps its mails, and ids of mails that were sent are not used again', async (t) => {
  const { folder, migrate, database } = sqliteSubject(t, copyOfMigrations(t, 'sqlite'))
  const rebuild = readdirSync(folder).find((name) => name.endsWith('-mails.sql')) ?? assert.fail('there is no such migration')
  const later = readdirSync(folder).filter((name) => name >= rebuild)
  for (const name of later) rmSync(join(folder, name))
  await migrate()
  const connection = new DatabaseSync(database)
  t.after(() => connection.close())
  const queue = (recipient: string) =>
    connection.prepare("insert into outbox (kind, recipient, requested_at, due_at) values ('verify', ?, 1, 2) returning id").get(recipient)
  assert.deepEqual({ ...queue('a@example.com') }, { id: 1 })
  assert.deepEqual({ ...queue('b@example.com') }, { id: 2 })
  const before = { ...connection.prepare('select * from outbox where id = 1').get() }
  connection.exec('delete from outbox where id = 2')
  for (const name of later) cpSync(join(MIGRATIONS_FOLDER, 'sqlite', name), join(folder, name))
  await migrate()
  assert.deepEqual(
    { ...connection.prepare('select * from outbox where id = 1').get() },
    { ...before, address: null, detail: null, language: null },
  )
  assert.deepEqual({ ...queue('b@example.com') }, { id: 3 })
  connection.exec('delete from outbox')
  assert.deepEqual({ ...queue('b@example.com') }, { id: 4 })
})
