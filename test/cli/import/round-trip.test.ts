import assert from 'node:assert/strict'
import { lstatSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import { hashApiKey } from '../../../src/security/api-key-secret.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { findKeyOwner, findRetiringKeyOwner } from '../../../src/storage/repositories/keys/key.repository.ts'
import { ADA, threeAccounts } from '../../support/app/accounts.ts'
import { type DatabaseKind, temporaryFolder, test } from '../../support/databases/databases.ts'
import { type CommandLine, commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'

const USERS = statement(
  'select id, email, email_key, password_hash, foreign_kind, first_name, first_name_folded, last_name, role, plan, language, created_at, last_login_at from users order by id',
)
const FLAGS = statement<{ banned: unknown; verified: unknown }>('select banned, verified from users order by id')
const KEYS = statement(
  'select id, user_id, name, key_hash, scopes, access, call_limit, created_at, expires_at, prefix, last_used_at from api_keys order by user_id, seq',
)
const RETIRING = statement('select key_hash, key_id, retired_at, expires_at from retiring_secrets order by key_hash')
const DATA = statement('select user_id, profile, app from user_data order by user_id')
const USE = statement('update api_keys set last_used_at = 1700000000000')
// The accounts of the tests have hashes of a lower cost, which count as foreign.
const USE_NATIVE_COST = statement(`
  update users set password_hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2U'`)
const LOG_IN = statement('update users set last_login_at = 1700000000123 where id = 1')

async function contentOf(db: Database): Promise<object> {
  const flags = (await db.all(FLAGS)).map(({ banned, verified }) => [Boolean(banned), Boolean(verified)])
  return { users: await db.all(USERS), flags, keys: await db.all(KEYS), retiring: await db.all(RETIRING), data: await db.all(DATA) }
}

/** Accounts with a ban, foreign and missing passwords, keys, and a key that was rotated. Returns the keys. */
async function fill(t: TestContext, line: CommandLine): Promise<{ readonly current: string; readonly former: string }> {
  await threeAccounts(line)
  await line.run(['user', 'ban', 'bob@example.com'])
  const created = json(
    await line.run([
      'key',
      'create',
      'ada@example.com',
      '--name',
      'ci',
      '--scope',
      'read',
      '--scope',
      'write',
      '--access',
      'read',
      '--json',
    ]),
  )
  const { id, key: former } = created as { id: string; key: string }
  const rotated = json(await line.run(['key', 'rotate', 'ada@example.com', id, '--overlap', '7d', '--json'])) as { key: string }
  await line.run(['key', 'create', 'cem@example.com', '--name', 'Schlüssel 🗝', '--expires-at', '2999-01-01T00:00:00Z', '--limit', '10/m'])
  done(
    await line.run(['user', 'plan', 'cem@example.com', 'pro'], '', { PLANS: 'free=60/m pro=600/m' }),
    'user 3 (Cem@example.com) has the plan pro: 600/m\n',
  )
  await line.run(['user', 'edit', 'cem@example.com', '--language', 'fr'])
  const db = await line.database()
  await db.run(USE)
  await db.run(LOG_IN)
  await db.run(USE_NATIVE_COST)
  const file = join(temporaryFolder(t), 'more.jsonl')
  const foreign = { email: 'Dan@example.com', password_hash: '$2b$04$abcdefghijklmnopqrstuuW2Jv0hVbV6ZQmZ0S1r7q9w9s1o8x6yC' }
  const data = '{"profile":{"__proto__":{"a":[null]},"\\u0000\\ud800":"é😀"},"app":{"tenant":"acme"}}'
  writeFileSync(file, `${JSON.stringify(foreign)}\n{"email":"eve@example.com","data":${data}}\n`)
  await line.run(['user', 'import', file, '--from', 'latchkey'])
  return { current: rotated.key, former }
}

const on = (t: TestContext, database: DatabaseKind) =>
  commandLine(Object.assign(Object.create(t) as TestContext, { database, after: t.after.bind(t) }))

nodeTest('accounts that move from SQLite to PostgreSQL and back are equal, and their keys work', async (t) => {
  const folder = temporaryFolder(t)
  const [first, second, third] = [await on(t, 'sqlite'), await on(t, 'postgres'), await on(t, 'sqlite')]
  const { current, former } = await fill(t, first)
  const before = await contentOf(await first.database())
  const files = [join(folder, 'one.jsonl'), join(folder, 'two.jsonl'), join(folder, 'three.jsonl')] as const
  for (const [from, to, file] of [
    [first, second, files[0]],
    [second, third, files[1]],
  ] as const) {
    done(
      await from.run(['user', 'export', file, '--with-hashes']),
      `Exported 5 users to ${file}. It contains password hashes and the secrets of second factors: keep it secret.\n`,
    )
    done(
      await to.run(['user', 'import', file, '--from', 'latchkey', '--keep-ids']),
      'read 5 = created 5 + updated 0 + skipped 0 + rejected 0\n',
    )
  }
  await third.run(['user', 'export', files[2], '--with-hashes'])
  assert.equal(readFileSync(files[1], 'utf8'), readFileSync(files[0], 'utf8'))
  assert.equal(readFileSync(files[2], 'utf8'), readFileSync(files[0], 'utf8'))
  assert.match(
    readFileSync(files[0], 'utf8'),
    /"data":\{"profile":\{"__proto__":\{"a":\[null\]\},"\\u0000\\ud800":"é😀"\},"app":\{"tenant":"acme"\}\}/,
  )
  assert.match(readFileSync(files[0], 'utf8'), /"email":"Cem@example\.com".*"plan":"pro","language":"fr".*"limit":"10\/m"/)
  for (const line of [second, third]) {
    const db = await line.database()
    assert.deepEqual(await contentOf(db), before)
    assert.equal((await findKeyOwner(db, hashApiKey(current)))?.user.email, ADA.email)
    assert.equal((await findRetiringKeyOwner(db, hashApiKey(former), Date.now()))?.user.email, ADA.email)
  }
})

test('user export writes the documented fields, to a file that only its owner may read', async (t) => {
  const line = await commandLine(t)
  const { current } = await fill(t, line)
  const file = join(temporaryFolder(t), 'users.jsonl')
  await line.run(['user', 'export', file])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const text = readFileSync(file, 'utf8')
  assert.doesNotMatch(text, /hash|argon2|\$2b/)
  const [ada] = text.split('\n').map((user) => (user === '' ? {} : (JSON.parse(user) as { keys?: object[] })))
  assert.deepEqual(
    new Set(Object.keys(ada ?? {})),
    new Set(['id', 'email', 'first_name', 'last_name', 'role', 'verified', 'banned', 'created_at', 'last_login_at', 'keys']),
  )
  assert.deepEqual(
    new Set(Object.keys(ada?.keys?.[0] ?? {})),
    new Set(['id', 'name', 'scopes', 'access', 'is_active', 'created_at', 'expires_at', 'prefix', 'last_used_at']),
  )
  refusedWith(await line.run(['user', 'export', file]), 1, `${file} already exists; choose another file, or replace it with --force`)
  assert.deepEqual(json(await line.run(['user', 'export', file, '--force', '--with-hashes', '--json'])), {
    file,
    users: 5,
    with_hashes: true,
  })
  const printed = await line.run(['user', 'export', '--with-hashes'])
  assert.equal(printed.stdout, readFileSync(file, 'utf8'))
  assert.match(printed.stdout, new RegExp(`"key_hash":"${hashApiKey(current)}"`))
  refusedWith(await line.run(['user', 'export', '/nowhere/users.jsonl']), 1, '/nowhere does not exist; create it or mount it first')
})

test('user export follows no symbolic link, neither a planted one nor the file itself', async (t) => {
  const line = await commandLine(t)
  await fill(t, line)
  const folder = temporaryFolder(t)
  const [file, victim, nowhere] = [join(folder, 'users.jsonl'), join(folder, 'victim'), join(folder, 'nowhere')]
  writeFileSync(victim, 'precious')
  symlinkSync(victim, `${file}.partial`)
  assert.equal((json(await line.run(['user', 'export', file, '--json'])) as { users: number }).users, 5)
  assert.deepEqual([readFileSync(victim, 'utf8'), lstatSync(file).isFile()], ['precious', true])
  for (const target of [victim, nowhere]) {
    rmSync(file)
    symlinkSync(target, file)
    refusedWith(await line.run(['user', 'export', file]), 1, `${file} already exists; choose another file, or replace it with --force`)
    assert.equal((json(await line.run(['user', 'export', file, '--force', '--json'])) as { users: number }).users, 5)
    assert.equal(lstatSync(file).isFile(), true)
  }
  assert.equal(readFileSync(victim, 'utf8'), 'precious')
  assert.deepEqual(readdirSync(folder).sort(), ['users.jsonl', 'users.jsonl.partial', 'victim'])
  const device = join(folder, 'device')
  symlinkSync('/dev/null', device)
  refusedWith(await line.run(['user', 'export', device, '--force']), 1, `${device} was not written: it is not a regular file`)
})

test('without hashes, accounts and keys come back, and neither a password nor a key fits', async (t) => {
  const line = await commandLine(t)
  await fill(t, line)
  const { stdout } = await line.run(['user', 'export'])
  const other = await on(t, 'sqlite')
  const file = join(temporaryFolder(t), 'users.jsonl')
  writeFileSync(file, stdout)
  done(
    await other.run(['user', 'import', file, '--from', 'latchkey', '--keep-ids']),
    'read 5 = created 5 + updated 0 + skipped 0 + rejected 0\n',
  )
  assert.equal((await other.run(['user', 'export'])).stdout, stdout)
  const [row] = (await (await other.database()).all(USERS)) as { password_hash: string }[]
  assert.equal(row?.password_hash, '!')
})

test('an import leaves an event with the number of accounts for each batch, an export one before it begins, a dry run none', async (t) => {
  const line = await commandLine(t)
  const file = join(temporaryFolder(t), 'users.jsonl')
  const users = Array.from({ length: 5001 }, (_, n) => `${JSON.stringify({ email: `user-${n}@example.com` })}\n`)
  writeFileSync(file, users.join(''))
  await line.run(['user', 'import', file, '--from', 'latchkey', '--dry-run'])
  await line.run(['user', 'import', file, '--from', 'latchkey'])
  await line.run(['user', 'import', file, '--from', 'latchkey'])
  await line.run(['user', 'export'])
  const { items } = json(await line.run(['audit', 'list', '--json'])) as { items: { kind: string; via: string; detail: object }[] }
  const [exported, ...imported] = items.map(({ kind, via, detail }) => JSON.stringify([kind, via, detail]))
  assert.equal(exported, '["data.exported","cli",{"count":5001}]')
  // Written at the same time, so in any order.
  assert.deepEqual(imported.toSorted(), ['["user.imported","cli",{"count":1}]', '["user.imported","cli",{"count":5000}]'])
})

test('data of a file replaces that of an account, what the file leaves out stays, and wrong data rejects its line', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const file = join(temporaryFolder(t), 'users.jsonl')
  const importing = async (...users: object[]) => {
    writeFileSync(file, users.map((user) => `${JSON.stringify(user)}\n`).join(''))
    return line.run(['user', 'import', file, '--from', 'latchkey', '--on-conflict', 'update'])
  }
  await importing({ email: 'bob@example.com', data: { profile: { theme: 'dark' }, app: { tenant: 'acme', plan: 'pro' } } })
  await importing({ email: 'bob@example.com', data: { app: { tenant: 'acme' } } }, { email: 'cem@example.com' })
  const deep = JSON.parse(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`) as object
  for (const [data, reason] of [
    [[1], 'data: should be an object'],
    [{ profile: 'text' }, 'data.profile: should be an object of at most 16384 bytes as JSON, nested at most 32 levels deep'],
    [{ app: deep }, 'data.app: should be an object of at most 16384 bytes as JSON, nested at most 32 levels deep'],
    [{ app: { a: 'x'.repeat(16_400) } }, 'data.app: should be an object of at most 16384 bytes as JSON, nested at most 32 levels deep'],
  ] as const)
    assert.ok((await importing({ email: 'cem@example.com', data })).stderr.includes(`line 1: ${reason}`), reason)
  const db = await line.database()
  assert.deepEqual(
    (await db.all(DATA)).map((row) => ({ ...(row as object) })),
    [{ user_id: 2, profile: '{"theme":"dark"}', app: '{"tenant":"acme"}' }],
  )
  const { items } = json(await line.run(['audit', 'list', '--json'])) as { items: { kind: string; target: number; detail: object }[] }
  assert.deepEqual(
    items.filter(({ kind }) => kind === 'data.changed').map(({ target, detail }) => [target, detail]),
    [
      [2, { changed: ['app.plan'] }],
      [2, { changed: ['profile.theme', 'app.tenant', 'app.plan'] }],
    ],
  )
})
