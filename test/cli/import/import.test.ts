import assert from 'node:assert/strict'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest, type TestContext } from 'node:test'
import { statement } from '../../../src/storage/database.ts'
import { storedEvents } from '../../support/app/audit.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { type CommandLine, commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'

const BCRYPT = '$2b$04$abcdefghijklmnopqrstuuW2Jv0hVbV6ZQmZ0S1r7q9w9s1o8x6yC'
const COUNT = statement<{ count: number }>('select count(*) as count from users')
const HASHES = statement<{ email: string; password_hash: string; foreign_kind: string | null; created_at: number }>(
  'select email, password_hash, foreign_kind, created_at from users order by id',
)
const ADD_SESSION = statement(`
  insert into sessions (id, user_id, created_at, expires_at) select 's', id, 1, 9000000000000 from users where email_key = $1`)
const COUNT_SESSIONS = statement<{ count: number }>('select count(*) as count from sessions')

function writeLines(t: TestContext, ...lines: (object | string)[]): string {
  const file = join(temporaryFolder(t), 'users.jsonl')
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}

function importing(line: CommandLine, file: string, ...args: string[]) {
  return line.run(['user', 'import', file, '--from', 'latchkey', ...args])
}

const counts = (read: number, created: number, updated: number, skipped: number, rejected: number) =>
  `read ${read} = created ${created} + updated ${updated} + skipped ${skipped} + rejected ${rejected}\n`

test('an address that has an account is skipped, fails or is updated, also if the file has it twice', async (t) => {
  const line = await commandLine(t)
  const file = writeLines(
    t,
    { email: 'ada@example.com', first_name: 'Ada' },
    { email: 'bob@example.com' },
    { email: 'ADA@example.com', last_name: 'King' },
  )
  done(await importing(line, file), counts(3, 2, 0, 1, 0))
  done(await importing(line, file), counts(3, 0, 0, 3, 0))
  const failed = await importing(line, file, '--on-conflict', 'fail')
  assert.deepEqual(failed, {
    code: 1,
    signal: null,
    stdout: counts(3, 0, 0, 0, 3),
    stderr: [1, 2, 3].map((n) => `latchkey: line ${n}: email: an account with this address exists already\n`).join(''),
  })
  done(await importing(line, file, '--on-conflict', 'update'), counts(3, 0, 3, 0, 0))
  const [ada, bob] = json(await line.run(['user', 'list', '--json'])) as { first_name: string; last_name: string }[]
  assert.deepEqual([ada?.first_name, ada?.last_name, bob?.first_name], ['Ada', 'King', '-'])
})

test('an update changes what the file says and nothing else, ends sessions with the password, and never disarms an admin', async (t) => {
  const line = await commandLine(t)
  const ada = {
    email: 'ada@example.com',
    first_name: 'Ada',
    last_name: 'King',
    role: 'admin',
    verified: true,
    created_at: '2020-01-01T00:00:00Z',
  }
  await importing(line, writeLines(t, { ...ada, password_hash: BCRYPT }))
  const db = await line.database()
  await db.run(ADD_SESSION, 'ada@example.com')
  const update = (user: object) => importing(line, writeLines(t, { email: 'ada@example.com', ...user }), '--on-conflict', 'update')
  done(await update({ role: 'user', banned: true, first_name: 'Augusta' }), counts(1, 0, 1, 0, 0))
  const [user] = json(await line.run(['user', 'list', '--json'])) as object[]
  assert.deepEqual(user, {
    id: 1,
    email: 'ada@example.com',
    first_name: 'Augusta',
    last_name: 'King',
    role: 'admin',
    banned: false,
    verified: true,
  })
  assert.equal((await db.first(COUNT_SESSIONS))?.count, 1)
  const before = await db.first(HASHES)
  assert.deepEqual([before?.password_hash, before?.foreign_kind, before?.created_at], [BCRYPT, 'bcrypt/16', Date.UTC(2020, 0)])
  await update({ password: 'a new good password' })
  const after = await db.first(HASHES)
  assert.match(after?.password_hash ?? '', /^\$argon2id\$/)
  assert.equal(after?.foreign_kind, null)
  assert.equal((await db.first(COUNT_SESSIONS))?.count, 0)
})

test('an update leaves the events of what it changes in each account, and none for what stays', async (t) => {
  const line = await commandLine(t)
  const [ada, bob, eve] = [
    { email: 'ada@example.com', first_name: 'Ada', last_name: 'King', verified: true, password_hash: BCRYPT },
    { email: 'bob@example.com', first_name: 'Bob', last_name: 'Boss', role: 'admin' },
    { email: 'eve@example.com' },
  ]
  await importing(line, writeLines(t, ada, bob, eve))
  const db = await line.database()
  const eventsOf = async (...users: object[]) => {
    const before = (await storedEvents(db)).length
    done(await importing(line, writeLines(t, ...users), '--on-conflict', 'update'), counts(users.length, 0, users.length, 0, 0))
    return (await storedEvents(db)).slice(before).map(({ kind, target, detail }) => `${kind} ${target} ${detail}`)
  }
  assert.deepEqual(await eventsOf(ada, bob), ['user.imported null {"count":2}'])
  const { email } = ada
  assert.deepEqual(
    await eventsOf({ email, role: 'admin', verified: false, last_name: 'Lovelace' }, { ...bob, role: 'user', banned: true }),
    ['user.edited 1 {"changed":["last_name","verified"]}', 'user.promoted 1 null', 'user.imported null {"count":2}'],
  )
  assert.deepEqual(await eventsOf({ ...eve, verified: true, banned: true, password_hash: BCRYPT }), [
    'user.edited 3 {"changed":["password"]}',
    'user.verified 3 null',
    'user.banned 3 null',
    'user.imported null {"count":1}',
  ])
  assert.deepEqual(await eventsOf({ ...eve, banned: false, password_hash: BCRYPT.replace('W2J', 'W3J') }), [
    'user.password_changed 3 null',
    'user.unbanned 3 null',
    'user.imported null {"count":1}',
  ])
})

test('an account that is imported as an admin leaves user.promoted, and a dry run leaves no event', async (t) => {
  const line = await commandLine(t)
  const file = writeLines(
    t,
    { email: 'ada@example.com', role: 'admin' },
    { email: 'bob@example.com', role: 'user' },
    { email: 'cem@example.com' },
    { email: 'dan@example.com', role: 'admin', banned: true },
  )
  const db = await line.database()
  done(await importing(line, file, '--dry-run'), `dry run: nothing was imported\n${counts(4, 4, 0, 0, 0)}`)
  assert.deepEqual(await storedEvents(db), [])
  done(await importing(line, file), counts(4, 4, 0, 0, 0))
  assert.deepEqual(
    (await storedEvents(db)).map(({ kind, via, target, detail }) => `${kind} ${via} ${target} ${detail}`),
    ['user.imported cli null {"count":4}', 'user.promoted cli 1 null', 'user.promoted cli 4 null'],
  )
})

test('--dry-run counts as the import would, and imports nothing', async (t) => {
  const line = await commandLine(t)
  await importing(line, writeLines(t, { email: 'ada@example.com' }))
  const file = writeLines(t, { email: 'ada@example.com' }, { email: 'bob@example.com' }, { email: 'nobody' }, { email: 'bob@example.com' })
  const rehearsed = await importing(line, file, '--dry-run')
  assert.deepEqual(rehearsed, {
    code: 1,
    signal: null,
    stdout: `dry run: nothing was imported\n${counts(4, 1, 0, 2, 1)}`,
    stderr: 'latchkey: line 3: email: should be an e-mail address\n',
  })
  assert.equal((await (await line.database()).first(COUNT))?.count, 1)
  const printed = await importing(line, file, '--dry-run', '--json')
  assert.deepEqual(JSON.parse(printed.stdout), { read: 4, created: 1, updated: 0, skipped: 2, rejected: 1, dry_run: true })
  assert.equal((await importing(line, file)).stdout, counts(4, 1, 0, 2, 1))
})

test('--keep-ids keeps the ids in an empty database, and new ids continue after them', async (t) => {
  const line = await commandLine(t)
  const file = writeLines(t, { id: 70, email: 'ada@example.com' }, { id: 7, email: 'bob@example.com' })
  done(await importing(line, file, '--keep-ids'), counts(2, 2, 0, 0, 0))
  done(await importing(line, file, '--keep-ids'), counts(2, 0, 0, 2, 0))
  const created = await line.run(
    ['user', 'create', '--email', 'cem@example.com', '--first-name', 'C', '--last-name', 'C'],
    'a good password\n',
  )
  assert.equal(created.stdout, '71\n')
  const others = writeLines(t, { id: 1, email: 'dan@example.com' })
  refusedWith(
    await importing(line, others, '--keep-ids'),
    1,
    '--keep-ids: the database is not empty; import into a new one, or without the ids',
  )
  const taken = await importing(
    line,
    writeLines(t, { id: 70, email: 'ada@example.com' }, { id: 7, email: 'eve@example.com' }, { email: 'fay@example.com' }),
    '--keep-ids',
  )
  assert.deepEqual(
    [taken.stdout, taken.stderr],
    [
      counts(3, 0, 0, 1, 2),
      'latchkey: line 3: id: is missing, which --keep-ids needs\nlatchkey: line 2: id: 7 belongs to another account\n',
    ],
  )
})

test('--keep-ids rejects an id that would leave too few for later accounts; without it, the id does not matter', async (t) => {
  const line = await commandLine(t)
  const file = writeLines(t, { id: 10 ** 15, email: 'ada@example.com' }, { id: 10 ** 15 + 1, email: 'bob@example.com' })
  const { code, stdout, stderr } = await importing(line, file, '--keep-ids')
  assert.deepEqual([code, stdout], [1, counts(2, 1, 0, 0, 1)])
  assert.equal(stderr, 'latchkey: line 2: id: should be at most 1000000000000000 with --keep-ids\n')
  const [ada] = json(await line.run(['user', 'list', '--json'])) as readonly { id: number }[]
  assert.equal(ada?.id, 10 ** 15)
  done(await importing(line, file), counts(2, 1, 0, 1, 0))
})

test('--rejects keeps rejected users with their reasons, for their owner only, and can be imported again', async (t) => {
  const line = await commandLine(t)
  const md5 = { email: 'bob@example.com', password_hash: '5f4dcc3b5aa765d61d8327deb882cf99' }
  const file = writeLines(t, { email: 'ada@example.com' }, md5, '{"email": "broken')
  const rejects = join(temporaryFolder(t), 'rejects.jsonl')
  const first = await importing(line, file, '--rejects', rejects)
  assert.deepEqual([first.code, first.stdout], [1, counts(3, 1, 0, 0, 2)])
  assert.equal(statSync(rejects).mode & 0o777, 0o600)
  const reason = 'password_hash: md5 is too weak to take over; --without-passwords imports the user for a reset by mail'
  assert.deepEqual(
    readFileSync(rejects, 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as object),
    [
      { ...md5, _rejected: `line 2: ${reason}` },
      { _text: '{"email": "broken', _rejected: 'line 3: is not valid JSON' },
    ],
  )
  const second = await importing(line, rejects, '--without-passwords')
  assert.deepEqual([second.code, second.stdout], [1, counts(2, 1, 0, 0, 1)])
  refusedWith(
    await importing(line, rejects, '--rejects', rejects),
    1,
    `--rejects: ${rejects} is the file that is imported; choose another one`,
  )
})

test('--rejects replaces a symbolic link, and does not write where it leads', async (t) => {
  const line = await commandLine(t)
  const folder = temporaryFolder(t)
  const [rejects, victim] = [join(folder, 'rejects.jsonl'), join(folder, 'victim')]
  writeFileSync(victim, 'precious')
  symlinkSync(victim, rejects)
  assert.equal((await importing(line, writeLines(t, { email: 'ada@example.com' }, '{"email": "broken'), '--rejects', rejects)).code, 1)
  assert.equal(readFileSync(victim, 'utf8'), 'precious')
  assert.deepEqual([lstatSync(rejects).isFile(), lstatSync(rejects).mode & 0o777], [true, 0o600])
  assert.match(readFileSync(rejects, 'utf8'), /_rejected/)
  assert.deepEqual(readdirSync(folder).sort(), ['rejects.jsonl', 'victim'])
})

test('--rejects keeps the right users of a file that is one line', async (t) => {
  const line = await commandLine(t)
  await importing(line, writeLines(t, { email: 'ada@example.com' }, { email: 'cem@example.com' }))
  const users = ['ada', 'bob', 'cem', 'dan'].map((name) => ({ email: `${name}@example.com`, first_name: name }))
  const rejects = join(temporaryFolder(t), 'rejects.jsonl')
  const { stdout } = await importing(line, writeLines(t, JSON.stringify(users)), '--on-conflict', 'fail', '--rejects', rejects)
  assert.equal(stdout, counts(4, 2, 0, 0, 2))
  const kept = readFileSync(rejects, 'utf8').trim().split('\n')
  assert.deepEqual(
    kept.map((text) => (JSON.parse(text) as { email: string }).email),
    ['ada@example.com', 'cem@example.com'],
  )
})

test('a user with a key of another account is rejected, and the keys of the others work', async (t) => {
  const line = await commandLine(t)
  const key = { id: 'key-1', name: 'ci', key_hash: 'a'.repeat(64), scopes: ['read'], access: 'read' }
  await importing(line, writeLines(t, { email: 'ada@example.com', keys: [key] }))
  const file = writeLines(t, { email: 'ada@example.com', keys: [key] }, { email: 'bob@example.com', keys: [{ ...key, id: 'key-2' }] })
  const second = await importing(line, file, '--on-conflict', 'update')
  assert.deepEqual(
    [second.stdout, second.stderr],
    [counts(2, 0, 1, 0, 1), 'latchkey: line 2: keys: the key key-2 belongs to another account\n'],
  )
  const keys = json(await line.run(['key', 'list', 'ada@example.com', '--json'])) as { id: string; access: string }[]
  assert.deepEqual(
    keys.map(({ id, access }) => [id, access]),
    [['key-1', 'read']],
  )
})

test('with KEY_SCOPES, a key with another scope is refused on the command line and rejected in an import', async (t) => {
  const line = await commandLine(t)
  const key = { id: 'key-1', name: 'ci', key_hash: 'a'.repeat(64) }
  const file = writeLines(
    t,
    { email: 'ada@example.com', keys: [{ ...key, scopes: ['read'] }] },
    { email: 'bob@example.com', keys: [{ ...key, id: 'key-2', key_hash: 'b'.repeat(64), scopes: ['read', 'delete'] }] },
  )
  const settings = { KEY_SCOPES: 'read,write' }
  const imported = await line.run(['user', 'import', file, '--from', 'latchkey'], '', settings)
  assert.deepEqual(
    [imported.code, imported.stdout, imported.stderr],
    [1, counts(2, 1, 0, 0, 1), 'latchkey: line 2: keys[0].scopes: each should be one of KEY_SCOPES\n'],
  )
  const create = (scope: string) => line.run(['key', 'create', 'ada@example.com', '--name', 'x', '--scope', scope], '', settings)
  const other = await create('delete')
  assert.deepEqual([other.code, other.stderr], [1, 'latchkey: this scope does not exist; KEY_SCOPES lists those that do\n'])
  assert.equal((await create('write')).code, 0)
})

test('a plaintext password that is on the list of PASSWORD_BLOCKLIST is rejected, or left out with --without-passwords', async (t) => {
  const line = await commandLine(t)
  const listed = { email: 'ada@example.com', password: 'iloveyou123' }
  const file = writeLines(t, listed, { email: 'bob@example.com', password: 'a password of my own' })
  const blocklist = join(temporaryFolder(t), 'listed.txt')
  writeFileSync(blocklist, 'iloveyou123\n')
  const args = ['user', 'import', file, '--from', 'latchkey']
  const settings = { PASSWORD_BLOCKLIST: blocklist }
  const first = await line.run(args, '', settings)
  assert.deepEqual([first.code, first.stdout], [1, counts(2, 1, 0, 0, 1)])
  assert.match(
    first.stderr,
    /latchkey: line 1: password: is on a list of breached passwords \(PASSWORD_BLOCKLIST\); --without-passwords imports the user for a reset by mail\n$/,
  )
  const second = await line.run([...args, '--without-passwords'], '', settings)
  assert.deepEqual([second.code, second.stdout], [0, counts(2, 1, 0, 1, 0)])
  const hashes = (await (await line.database()).all(HASHES)).map(({ email, password_hash }) => [email, password_hash === '!'])
  assert.deepEqual(hashes, [
    ['bob@example.com', false],
    ['ada@example.com', true],
  ])
})

const REFUSE_BOB = statement(`
  create trigger if not exists refuse_bob before insert on users when new.email = 'bob@example.com'
  begin select raise(abort, 'no space for Bob'); end`)
const ACCEPT_BOB = statement('drop trigger if exists refuse_bob')

plainTest('an import that fails half-way says so, and is completed by the same command', async (t) => {
  const line = await commandLine(Object.assign(t, { database: 'sqlite' as const }))
  const db = await line.database()
  await db.run(REFUSE_BOB)
  // Two users with the same address are never in one batch.
  const file = writeLines(t, { email: 'ada@example.com' }, { email: 'ada@example.com' }, { email: 'bob@example.com' })
  const incomplete = 'no space for Bob; the import is incomplete: fix the problem, then run the same command again'
  refusedWith(await importing(line, file), 1, incomplete)
  // Ada, whom the first attempt imported, is skipped.
  refusedWith(await importing(line, file), 1, incomplete)
  refusedWith(await importing(line, file, '--dry-run'), 1, 'no space for Bob; nothing was imported')
  assert.equal((await db.first(COUNT))?.count, 1)
  await db.run(ACCEPT_BOB)
  done(await importing(line, file), counts(3, 1, 0, 2, 0))
})
