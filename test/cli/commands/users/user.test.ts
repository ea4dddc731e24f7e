import assert from 'node:assert/strict'
import type { User } from '../../../../src/model/user.ts'
import { statement } from '../../../../src/storage/database.ts'
import { listApiKeysAfter } from '../../../../src/storage/repositories/keys/key.repository.ts'
import { findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { ADA, BOB, CEM, threeAccounts } from '../../../support/app/accounts.ts'
import { test } from '../../../support/databases/databases.ts'
import { commandLine, done, json, refusedWith } from '../../../support/processes/command-line.ts'

const ADD_KEYS = statement(`
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $2)
  insert into api_keys (id, user_id, name, key_hash, scopes, created_at) select 'key-' || n, $1, 'ci', 'hash-' || n, '[]', 1 from numbers`)
const COUNT_KEYS = statement<{ count: number }>('select count(*) as count from api_keys')
const QUEUED = statement<{ kind: string; address: string }>('select kind, address from outbox order by kind')
const NONE = { totp: false, passkeys: 0, recovery_codes: 0 }
const LAST_ADMIN = 'this is the last admin; make another account an admin first'

test('user list prints a table, and with --json the full views of the API', async (t) => {
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
  for (const reference of ['2', 'bob@EXAMPLE.com'])
    assert.deepEqual(json(await line.run(['user', 'show', reference, '--json'])), { ...BOB, second_factor: NONE, language: null })
  refusedWith(await line.run(['user', 'show', '4']), 1, 'there is no such user')
  refusedWith(await line.run(['user', 'show', '9'.repeat(30)]), 1, 'there is no such user')
  refusedWith(await line.run(['user', 'show', 'dan@example.com']), 1, 'there is no such user')
  refusedWith(await line.run(['user', 'show', 'dan']), 1, 'USER: should be an id or an e-mail address')
})

test('user search accepts the parameters of the API', async (t) => {
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
  done(await found('nobody'), '0 accounts found\n')
  done(await found('can', '--exact'), `${table.join('\n')}\n\n1 account found, page 1 of 1\n`)
  refusedWith(
    await found('x', '--size', '101'),
    2,
    "option '--size <number>' argument '101' is invalid. It should be a whole number from 1 to 100.",
  )
  assert.equal((await found('x', '--field', 'password')).code, 2)
})

test('with SECURITY_NOTICES, commands that change the security of an account queue a mail to its owner', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const commands = [
    ['user', 'make-admin', '2'],
    ['user', 'set-password', '2', '--password', 'a new password'],
    ['user', 'edit', '2', '--email', 'new@example.com'],
  ]
  for (const env of [{}, { SECURITY_NOTICES: 'true' }]) {
    for (const command of commands) assert.equal((await line.run(command, '', env)).code, 0)
    for (const command of [
      ['user', 'revoke-admin', '2'],
      ['user', 'edit', '2', '--email', 'Bob@example.com'],
    ])
      assert.equal((await line.run(command)).code, 0)
    const queued = (await db.all(QUEUED)).map(({ kind, address }) => `${kind} ${address}`)
    const expected = ['admin_role Bob@example.com', 'email_changed Bob@example.com', 'password_changed Bob@example.com']
    assert.deepEqual(queued, 'SECURITY_NOTICES' in env ? expected : [])
  }
})

test('user ban, unban, verify, make-admin and revoke-admin change an account and print it with --json', async (t) => {
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

test('a change says what was done, or that there was nothing to do', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const bob = 'user 2 (Bob@example.com)'
  for (const [command, first, second] of [
    ['ban', `banned ${bob}`, `${bob} is already banned`],
    ['unban', `unbanned ${bob}`, `${bob} is not banned`],
    ['make-admin', `made ${bob} an admin`, `${bob} is already an admin`],
    ['revoke-admin', `removed the admin role from ${bob}`, `${bob} is not an admin`],
  ] as const) {
    done(await line.run(['user', command, '2']), `${first}\n`)
    done(await line.run(['user', command, '2']), `${second}\n`)
  }
  done(await line.run(['user', 'verify', '2']), `${bob} is already verified\n`)
  done(await line.run(['user', 'delete', '2']), `deleted ${bob}\n`)
})

test('the last admin cannot be deleted, banned or demoted', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  for (const command of ['delete', 'ban', 'revoke-admin']) refusedWith(await line.run(['user', command, 'ada@example.com']), 1, LAST_ADMIN)
  const { id, email, firstName, lastName, role, banned, verified } = (await findUserById(db, 1)) as User
  assert.deepEqual({ id, email, first_name: firstName, last_name: lastName, role, banned, verified }, ADA)

  await line.run(['user', 'make-admin', '2'])
  assert.deepEqual(json(await line.run(['user', 'ban', '1', '--json'])), { ...ADA, banned: true })
  refusedWith(await line.run(['user', 'ban', '2']), 1, LAST_ADMIN)
})

test('user delete removes an account with its keys', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  await line.run(['key', 'create', '2', '--name', 'ci'])
  assert.deepEqual(json(await line.run(['user', 'delete', 'bob@example.com', '--json'])), { ...BOB, deleted: true })
  assert.equal(await findUserById(db, 2), undefined)
  assert.deepEqual(await listApiKeysAfter(db, 2, 0, 1), { keys: [], last: 0 })
  refusedWith(await line.run(['user', 'delete', '2']), 1, 'there is no such user')
})

test('user search applies the limit of the API to a term', async (t) => {
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

test('user delete removes an account with more keys than are deleted at once, and --dry-run deletes none of them', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  await db.run(ADD_KEYS, 2, 1300)
  done(await line.run(['user', 'delete', '2', '--dry-run']), 'would delete user 2 (Bob@example.com)\n')
  assert.equal((await db.first(COUNT_KEYS))?.count, 1300)
  done(await line.run(['user', 'delete', '2']), 'deleted user 2 (Bob@example.com)\n')
  assert.equal((await db.first(COUNT_KEYS))?.count, 0)
  assert.equal(await findUserById(db, 2), undefined)
})
