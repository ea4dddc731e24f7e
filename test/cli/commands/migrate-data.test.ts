import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { statement } from '../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { insertApiKey } from '../../../src/storage/repositories/keys/key.repository.ts'
import { claimMails, enqueueMail, giveUpMail } from '../../../src/storage/repositories/mail/mail.repository.ts'
import { addUsage } from '../../../src/storage/repositories/plans/usage.repository.ts'
import { insertSession } from '../../../src/storage/repositories/sessions/session.repository.ts'
import { deleteUser, findUserById, insertUser, type NewUser } from '../../../src/storage/repositories/users/user.repository.ts'
import { searchUsers } from '../../../src/storage/repositories/users/user-search.repository.ts'
import { discardWebhook, stopWebhooks } from '../../../src/storage/repositories/webhooks/webhook.repository.ts'
import { TABLES } from '../../../src/storage/tables.ts'
import { until } from '../../support/app/eventually.ts'
import { emptyPostgres, temporaryFolder } from '../../support/databases/databases.ts'
import { addFactors } from '../../support/databases/factors.ts'
import { ask } from '../../support/load/traffic.ts'
import { refusedWith, runLatchkey } from '../../support/processes/command-line.ts'
import { startNode } from '../../support/processes/processes.ts'
import { startProcess } from '../../support/processes/service-process.ts'
import { enqueueWebhook } from '../../support/servers/webhook-receiver.ts'

const WRITER = fileURLToPath(new URL('../../support/processes/writer-process.ts', import.meta.url))
const SET_PLAN = statement(`update users set plan = 'pro' where id = $1`)
const ADD_WINDOW = statement('insert into limit_windows (subject, period_ms, ends_at, used) values ($1, $2, $3, $4)')
const BAN = statement('update users set banned = true, last_login_at = 77 where id = $1')
const ADD_RETIRING = statement('insert into retiring_secrets (key_hash, key_id, retired_at, expires_at) values ($1, $2, 1, $3)')
const ADD_SIGNING_KEY = statement(`
  insert into signing_keys (id, public_jwk, private_key, created_at, signs_from, published_until) values ($1, $2, $3, $4, $5, $6)`)
const ADD_SECRET_USE = statement('insert into secret_uses (fingerprint, first_used_at, last_used_at) values ($1, $2, $3)')
function person(n: number): NewUser {
  const email = `User-${n}@example.com`
  const hash = `$argon2id$v=19$m=64,t=1,p=1$c2FsdA$${n}`
  return {
    email,
    emailKey: email.toLowerCase(),
    passwordHash: hash,
    firstName: `Ünal 🗝 ${n}`,
    lastName: 'O\'Brien \\ "x"',
    role: n === 1 ? 'admin' : 'user',
    verified: n % 2 === 1,
    createdAt: 1_700_000_000_000 + n,
  }
}

/** 1200 users of whom the last two were deleted, sessions, keys and mails. */
async function filled(t: TestContext): Promise<string> {
  const file = join(temporaryFolder(t), 'old.db')
  await migrate({ kind: 'sqlite', file })
  const db = await openDatabase({ kind: 'sqlite', file })
  await db.transaction(async (tx) => {
    for (let n = 1; n <= 1200; n++) await insertUser(tx, person(n))
    for (const id of [1199, 1200]) await deleteUser(tx, id)
    await tx.run(BAN, 2)
    for (let n = 1; n <= 20; n++) await insertSession(tx, { id: `session-${n}`, userId: n, createdAt: n, expiresAt: 1_800_000_000_000 + n })
    for (let n = 1; n <= 5; n++) {
      const key = {
        id: `00000000-0000-4000-8000-00000000000${n}`,
        name: `Schlüssel ${n}`,
        createdAt: n,
        isActive: true,
        scopes: ['a', 'ß'],
        access: 'identify',
        expiresAt: 1_900_000_000_000,
        prefix: 'lk_Abc123',
        limit: n === 1 ? '10/m' : undefined,
        lastUsedAt: undefined,
        retiringUntil: undefined,
      } as const
      await insertApiKey(tx, n, key, `hash-${n}`)
      await tx.run(ADD_RETIRING, `former-${n}`, key.id, 1_800_000_000_000 + n)
    }
    await tx.run(SET_PLAN, 3)
    const use = Array.from({ length: 1100 }, (_, day) => ({ day, userId: 1 + (day % 3), keySeq: 1 + (day % 3), allowed: day, limited: 1 }))
    await addUsage(tx, use)
    await tx.run(ADD_WINDOW, 'u1', 60_000, 1_800_000_000_000, 7)
    await addFactors(tx, 7)
    await tx.run(ADD_SIGNING_KEY, 'signing', '{"kty":"EC"}', 'sealed', 1, 2, null)
    await tx.run(ADD_SECRET_USE, 'fingerprint', 1, 2)
    await enqueueMail(tx, 'verify', 'user-2@example.com', 5)
    const [mail] = await claimMails(tx, { lease: 'lease', leaseEndsAt: 9, now: 6, limit: 1, takesOver: true })
    assert.ok(mail && (await giveUpMail(tx, mail, 7, 'RCPT TO was answered: 550')))
    await enqueueMail(tx, 'reset', 'user-3@example.com', 8)
    const event = { type: 'key.created', userId: 2, keyId: 'key', sessionId: undefined, occurredAt: 9 } as const
    for (const messageId of ['msg_1', 'msg_2']) await enqueueWebhook(tx, { ...event, messageId })
    await discardWebhook(tx, 2, 9)
    await stopWebhooks(tx, 'endpoint', 10)
  })
  await db.close()
  return file
}

type Rows = readonly Readonly<Record<string, unknown>>[]
type Content = Readonly<Record<string, readonly string[]>>

/** The rows of every table, in an order that does not depend on the database. */
async function contentOf(rowsOf: (table: string) => Rows | Promise<Rows>): Promise<Content> {
  const content: Record<string, string[]> = {}
  const plain = (value: unknown) => (typeof value === 'boolean' ? Number(value) : value)
  for (const table of Object.keys(TABLES)) {
    const rows = (await rowsOf(table)).map((row) => Object.entries(row).map(([name, value]) => [name, plain(value)] as const))
    content[table] = rows
      .map((fields) => JSON.stringify(Object.fromEntries(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))))
      .sort()
  }
  return content
}

async function contentOfSqlite(file: string): Promise<Content> {
  const connection = new DatabaseSync(file)
  const content = await contentOf((table) => connection.prepare(`select * from ${table}`).all())
  connection.close()
  return content
}

async function contentOfPostgres(url: string): Promise<Content> {
  const sql = postgres(url, { max: 1, types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } } })
  const content = await contentOf((table) => sql.unsafe(`select * from ${table}`))
  await sql.end()
  return content
}

async function tablesOf(url: string): Promise<number> {
  const sql = postgres(url, { max: 1 })
  const tables = await sql`select 1 from pg_tables where schemaname = 'public'`
  await sql.end()
  return tables.length
}

test('migrate-data copies everything from SQLite to PostgreSQL and back, including ids, hashes and used ids', async (t) => {
  const old = await filled(t)
  const url = await emptyPostgres(t)
  const cwd = temporaryFolder(t)
  const run = (from: string, to: string) => runLatchkey(['migrate-data', '--from', from, '--to', to], { cwd })
  const original = await contentOfSqlite(old)

  const there = await run(`sqlite:${old}`, url)
  assert.deepEqual(
    { ...there, stdout: there.stdout.split('\n') },
    {
      code: 0,
      signal: null,
      stderr: '',
      stdout: [
        'Copied 1198 users, 20 sessions, 5 API keys, 2 mails in the outbox. Everything was read back and compared.',
        'Now set DATABASE_URL to the new database and start the service.',
        'Keep the same SECRET_KEY. With another one, every session and mailed link ends.',
        'The old database was not changed; keep it until you have seen the new one at work.',
        '',
      ],
    },
  )
  assert.deepEqual(await contentOfPostgres(url), original)
  assert.deepEqual(await contentOfSqlite(old), original)

  const again = await run(`sqlite:${old}`, url)
  refusedWith(
    again,
    1,
    'the target is not empty: 1198 rows in users, 20 rows in sessions, 1 rows in totp_secrets, 1 rows in recovery_codes, 1 rows in passkeys, 1 rows in identities, 1 rows in unproven_accounts, 5 rows in api_keys, 5 rows in retiring_secrets, 1100 rows in key_usage, 1 rows in limit_windows, 2 rows in outbox, 1 rows in webhook_deliveries, 1 rows in webhook_stops; use a new database',
  )

  const back = await run(url, 'sqlite:back/new.db')
  assert.deepEqual([back.code, back.stderr], [0, ''])
  assert.deepEqual(await contentOfSqlite(join(cwd, 'back/new.db')), original)

  for (const target of [
    { kind: 'postgres', url },
    { kind: 'sqlite', file: join(cwd, 'back/new.db') },
  ] as const) {
    const db = await openDatabase(target)
    assert.equal(await db.transaction((tx) => insertUser(tx, person(5000))), 1201, 'the ids of deleted users are not given out again')
    const found = await searchUsers(db, { term: 'nal 🗝 1198', field: 'all', isExact: false, page: 1, size: 5 })
    assert.deepEqual([found.total, found.users[0]?.id], [1, 1198])
    await db.close()
  }
})

test('migrate-data replaces what the start of a service leaves in a target that nobody has used', async (t) => {
  const old = await filled(t)
  const cwd = temporaryFolder(t)
  const url = await emptyPostgres(t)
  const original = await contentOfSqlite(old)
  for (const [name, content] of [
    [url, () => contentOfPostgres(url)],
    ['sqlite:data/latchkey.db', () => contentOfSqlite(join(cwd, 'data', 'latchkey.db'))],
  ] as const) {
    const service = await startProcess(t, { DATABASE_URL: name }, cwd)
    await until('the first signing key', async () =>
      JSON.stringify((await ask(service.url, 'GET', '/.well-known/jwks.json')).body).includes('kid'),
    )
    service.process.kill('SIGTERM')
    await once(service.process, 'close')
    const started = Object.entries(await content()).filter(([, rows]) => rows.length > 0)
    assert.deepEqual(
      started.map(([table]) => table),
      ['signing_keys', 'secret_uses'],
    )
    const moved = await runLatchkey(['migrate-data', '--from', `sqlite:${old}`, '--to', name], { cwd })
    assert.deepEqual([moved.code, moved.stderr], [0, ''])
    assert.deepEqual(await content(), original)
  }
})

test('migrate-data says that it migrated a source of an earlier version', async (t) => {
  const old = await filled(t)
  const earlier = new DatabaseSync(old)
  // The third migration changes nothing in SQLite: without its line in the history the database is one of the version before.
  earlier.exec("delete from schema_migrations where name like '0003%'")
  earlier.close()
  const { code, stdout } = await runLatchkey(['migrate-data', '--from', `sqlite:${old}`, '--to', 'sqlite:new.db'], {
    cwd: temporaryFolder(t),
  })
  assert.equal(code, 0)
  assert.match(stdout, /\nThe old database was migrated to this version and otherwise not changed; keep it until/)
})

test('migrate-data that fails leaves the target empty', async (t) => {
  const old = await filled(t)
  const damaged = new DatabaseSync(old)
  // PostgreSQL cannot hold this character, and the service refuses it.
  damaged.exec("update outbox set last_error = 'a' || char(0) || 'b' where id = 2")
  damaged.close()
  const url = await emptyPostgres(t)
  const { code, stdout, stderr } = await runLatchkey(['migrate-data', '--from', `sqlite:${old}`, '--to', url], {
    cwd: temporaryFolder(t),
  })
  assert.deepEqual([code, stdout, stderr.split('\n').length], [1, '', 2])
  assert.deepEqual(Object.values(await contentOfPostgres(url)).flat(), [])
})

test('migrate-data refuses a source that is in use or missing, and an invalid URL', async (t) => {
  const old = await filled(t)
  const cwd = temporaryFolder(t)
  const url = await emptyPostgres(t)
  const run = (from: string, to: string) => runLatchkey(['migrate-data', '--from', from, '--to', to], { cwd })
  const writer = startNode(t, WRITER, [old], { cwd })
  await once(writer.stdout ?? writer, 'data')
  const inUse = '--from: a service has this database open, and its writes would be lost; stop it and try again'
  refusedWith(await run(`sqlite:${old}`, url), 1, inUse)
  writer.kill('SIGKILL')
  await migrate({ kind: 'postgres', url })
  const service = await openDatabase({ kind: 'postgres', url })
  await findUserById(service, 1)
  refusedWith(await run(url, 'sqlite:new.db'), 1, inUse)
  await service.close()
  refusedWith(await run('sqlite:nothing.db', url), 1, '--from: there is no database at nothing.db')
  const notOurs = '--from: this database is empty or does not belong to Latchkey; nothing was copied'
  const foreign = new DatabaseSync(join(cwd, 'cats.db'))
  foreign.exec('create table cats (name text)')
  refusedWith(await run('sqlite:cats.db', url), 1, notOurs)
  assert.deepEqual(
    foreign
      .prepare('select name from sqlite_schema')
      .all()
      .map(({ name }) => name),
    ['cats'],
  )
  foreign.close()
  const empty = await emptyPostgres(t)
  refusedWith(await run(empty, 'sqlite:new.db'), 1, notOurs)
  assert.deepEqual([await tablesOf(empty), existsSync(join(cwd, 'new.db'))], [0, false])
  refusedWith(await run('sqlite:.', url), 1, '--from: the SQLite file . cannot be used: unable to open database file')
  const { code, stderr } = await run('mysql://x', url)
  assert.equal(code, 1)
  assert.match(stderr, /^latchkey: --from: should be sqlite:/)
})

test('migrate-data reads URLs from the environment and from standard input, so that no list of processes shows their passwords', async (t) => {
  const old = await filled(t)
  const cwd = temporaryFolder(t)
  const args = ['migrate-data', '--from', 'env:OLD_URL', '--to', '-', '--json']
  const { code, stdout, stderr } = await runLatchkey(args, { cwd, env: { OLD_URL: `sqlite:${old}` }, input: 'sqlite:new.db\n' })
  assert.deepEqual([code, stderr], [0, ''])
  const { rows, migrated_source: isMigrated } = JSON.parse(stdout)
  assert.deepEqual([rows.users, rows.sessions, rows.api_keys, isMigrated], [1198, 20, 5, false])
  assert.deepEqual(await contentOfSqlite(join(cwd, 'new.db')), await contentOfSqlite(old))
  refusedWith(await runLatchkey(args, { cwd, input: '' }), 1, '--from: the environment variable OLD_URL is not set')
  refusedWith(
    await runLatchkey(['migrate-data', '--from', '-', '--to', '-'], { cwd, input: '' }),
    1,
    '--from, --to: only one of them can be read from standard input',
  )
})
