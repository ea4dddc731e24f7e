import assert from 'node:assert/strict'
import type { User } from '../../../src/model/user.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { createServices } from '../../../src/services.ts'
import { listApiKeysAfter } from '../../../src/storage/repositories/api-key.repository.ts'
import { findSessionUser, insertSession } from '../../../src/storage/repositories/session.repository.ts'
import { findUserById } from '../../../src/storage/repositories/user.repository.ts'
import { ADA, BOB, CEM, threeAccounts } from '../../support/app/accounts.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, done, refusedWith } from '../../support/processes/command-line.ts'

const LAST_ADMIN = 'this is the last admin; make another account an admin first'

function json({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }): unknown {
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  return JSON.parse(stdout)
}

test('user list prints a table for people, and the full views of the API for scripts', async (t) => {
  const line = await commandLine(t)
  done(await line.run(['user', 'list']), 'ID  EMAIL  FIRST NAME  LAST NAME  ROLE  STATE\n')
  assert.deepEqual(json(await line.run(['user', 'list', '--json'])), [])
  await threeAccounts(line)
  done(
    await line.run(['user', 'list']),
    [
      'ID  EMAIL            FIRST NAME  LAST NAME    ROLE   STATE',
      '1   Ada@example.com  Ada         Ünal         admin  verified',
      '2   Bob@example.com  Bob         Byrne-Jones  user   verified',
      '3   Cem@example.com  Cem         Can          user   verified',
      '',
    ].join('\n'),
  )
  assert.deepEqual(json(await line.run(['user', 'list', '--json'])), [ADA, BOB, CEM])
})

test('user show finds an account by its id and by its address in any case', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  for (const reference of ['2', 'bob@EXAMPLE.com']) assert.deepEqual(json(await line.run(['user', 'show', reference, '--json'])), BOB)
  refusedWith(await line.run(['user', 'show', '4']), 1, 'there is no such user')
  refusedWith(await line.run(['user', 'show', '9'.repeat(30)]), 1, 'there is no such user')
  refusedWith(await line.run(['user', 'show', 'dan@example.com']), 1, 'there is no such user')
  refusedWith(await line.run(['user', 'show', 'dan']), 1, 'USER: should be an id or an e-mail address')
})

test('user search takes the parameters of the API', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const found = (...args: string[]) => line.run(['user', 'search', ...args])
  assert.deepEqual(json(await found('ÜNAL', '--json')), { items: [ADA], total: 1, page: 1, size: 50, pages: 1 })
  assert.deepEqual(json(await found('example', '--page', '2', '--size', '2', '--json')), {
    items: [CEM],
    total: 3,
    page: 2,
    size: 2,
    pages: 2,
  })
  const can = await found('c', '--field', 'last_name', '--exact', '--json')
  assert.deepEqual(json(can), { items: [], total: 0, page: 1, size: 50, pages: 0 })
  const table = ['ID  EMAIL            FIRST NAME  LAST NAME  ROLE  STATE', '3   Cem@example.com  Cem         Can        user  verified']
  done(await found('can', '--exact'), `${table.join('\n')}\n\n1 found, page 1 of 1\n`)
  refusedWith(
    await found('x', '--size', '101'),
    2,
    "option '--size <number>' argument '101' is invalid. It should be a whole number from 1 to 100.",
  )
  assert.equal((await found('x', '--field', 'password')).code, 2)
})

test('user ban, unban, verify, make-admin and revoke-admin change an account and show it', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const change = async (command: string) => json(await line.run(['user', command, '2', '--json']))
  const resetVersionBefore = (await findUserById(db, 2))?.resetVersion ?? Number.NaN
  assert.deepEqual(await change('ban'), { ...BOB, banned: true })
  assert.equal((await findUserById(db, 2))?.resetVersion, resetVersionBefore + 1)
  assert.deepEqual(await change('unban'), BOB)
  assert.deepEqual(await change('make-admin'), { ...BOB, role: 'admin' })
  assert.deepEqual(await change('revoke-admin'), BOB)
  assert.deepEqual(await change('verify'), BOB)
})

test('the last admin is neither deleted, nor banned, nor made a user', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  for (const command of ['delete', 'ban', 'revoke-admin']) refusedWith(await line.run(['user', command, 'ada@example.com']), 1, LAST_ADMIN)
  const { id, email, firstName, lastName, role, banned, verified } = (await findUserById(db, 1)) as User
  assert.deepEqual({ id, email, first_name: firstName, last_name: lastName, role, banned, verified }, ADA)

  await line.run(['user', 'make-admin', '2'])
  assert.deepEqual(json(await line.run(['user', 'ban', '1', '--json'])), { ...ADA, banned: true })
  refusedWith(await line.run(['user', 'ban', '2']), 1, LAST_ADMIN)
})

test('user delete removes an account with its keys, and shows it as it was', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  await line.run(['key', 'create', '2', '--name', 'ci'])
  assert.deepEqual(json(await line.run(['user', 'delete', 'bob@example.com', '--json'])), BOB)
  assert.equal(await findUserById(db, 2), undefined)
  assert.deepEqual(await listApiKeysAfter(db, 2, 0, 1), { keys: [], last: 0 })
  refusedWith(await line.run(['user', 'delete', '2']), 1, 'there is no such user')
})

test('user set-password sets the password and ends every session', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const now = Date.now()
  await db.transaction((tx) => insertSession(tx, { id: 'session', userId: 2, createdAt: now, expiresAt: now + 1_000_000 }))
  assert.deepEqual(json(await line.run(['user', 'set-password', '2', '--password', '-', '--json'], 'a new password\n')), BOB)
  const user = await findUserById(db, 2)
  assert.equal(await createPasswords().matches('a new password', user?.passwordHash), true)
  assert.equal(await findSessionUser(db, 'session', 2, now), undefined)
  refusedWith(await line.run(['user', 'set-password', '2', '--password', 'short']), 1, '--password: should be 8 to 256 characters')
  assert.equal((await findUserById(db, 2))?.passwordHash, user?.passwordHash)
})

test('key create shows a key once, key list never, and key revoke deletes it', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const args = ['key', 'create', 'bob@example.com', '--name', ' ci ', '--scope', 'read', '--scope', 'write', '--json']
  const { key, ...view } = json(await line.run(args)) as { key: string; id: string; created_at: string }
  assert.deepEqual({ ...view, id: '', created_at: '' }, { id: '', name: 'ci', created_at: '', is_active: true, scopes: ['read', 'write'] })
  const { authentication } = createServices({ db, secretKey: new TextEncoder().encode(TEST_SECRET), now: Date.now })
  assert.equal((await authentication.byKey(key)).user.id, 2)

  assert.deepEqual(json(await line.run(['key', 'list', '2', '--json'])), [view])
  const table = (await line.run(['key', 'list', '2'])).stdout.split('\n')
  assert.match(table[1] ?? '', new RegExp(`^${view.id}  ci    ${view.created_at}  active  read, write$`))

  refusedWith(await line.run(['key', 'revoke', '1', view.id]), 1, 'there is no such API key')
  assert.deepEqual(json(await line.run(['key', 'revoke', '2', view.id.toUpperCase(), '--json'])), view)
  assert.deepEqual(await listApiKeysAfter(db, 2, 0, 1), { keys: [], last: 0 })
})

test('key create refuses what the API refuses', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  refusedWith(
    await line.run(['key', 'create', '2', '--name', ' ', '--scope', 'x'.repeat(101)]),
    1,
    '--scope: should be at most 50 scopes of 1 to 100 characters without control characters',
    '--name: should be 1 to 100 characters without control characters',
  )
  refusedWith(await line.run(['key', 'create', '9', '--name', 'x']), 1, 'there is no such user')
  assert.deepEqual(await listApiKeysAfter(db, 2, 0, 1), { keys: [], last: 0 })
})

test('user create prints the full view of the API for scripts', async (t) => {
  const line = await commandLine(t)
  const person = ['--email', 'Ada@example.com', '--password', 'correct horse', '--first-name', 'Ada', '--last-name', 'Ünal']
  assert.deepEqual(json(await line.run(['user', 'create', ...person, '--admin', '--json'])), ADA)
})

test('user search holds a term to the limit of the API', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  assert.deepEqual(json(await line.run(['user', 'search', '🔑'.repeat(256), '--json'])), {
    items: [],
    total: 0,
    page: 1,
    size: 50,
    pages: 0,
  })
  for (const term of ['🔑'.repeat(257), 'a\tb'])
    refusedWith(await line.run(['user', 'search', term]), 1, '<term>: should be at most 256 characters without control characters')
})
