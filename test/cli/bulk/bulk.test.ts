import assert from 'node:assert/strict'
import { listApiKeysAfter } from '../../../src/storage/repositories/keys/key.repository.ts'
import { findUserById } from '../../../src/storage/repositories/users/user.repository.ts'
import { ADA, BOB, CEM, threeAccounts } from '../../support/app/accounts.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, done, refusedWith } from '../../support/processes/command-line.ts'

const LAST_ADMIN = 'this is the last admin; make another account an admin first'

test('a bulk change reads ids and addresses from standard input, prints a line for each failure, does the rest and exits with 1', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const { code, stdout, stderr } = await line.run(
    ['user', 'ban', '-', '--json'],
    '2\nnobody@example.com\nada@example.com\nCEM@example.com\n',
  )
  assert.equal(code, 1)
  assert.deepEqual(JSON.parse(stdout), [
    { ...BOB, banned: true },
    { ...CEM, banned: true },
  ])
  assert.equal(
    stderr,
    `latchkey: nobody@example.com: there is no such user\nlatchkey: ada@example.com: ${LAST_ADMIN}\nlatchkey: 2 of 4 failed\n`,
  )
  assert.deepEqual(await Promise.all([1, 2, 3].map(async (id) => (await findUserById(db, id))?.banned)), [false, true, true])
})

test('a bulk change of several accounts prints a line for each', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  done(
    await line.run(['user', 'make-admin', '2', 'cem@example.com', '1']),
    [
      'made user 2 (Bob@example.com) an admin',
      'made user 3 (Cem@example.com) an admin',
      'user 1 (Ada@example.com) is already an admin',
      '',
    ].join('\n'),
  )
})

test('an account that is named twice, by id and by address, is changed once', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  done(await line.run(['user', 'ban', '2', 'BOB@example.com']), 'banned user 2 (Bob@example.com)\n')
  done(await line.run(['user', 'delete', 'bob@example.com', '2']), 'deleted user 2 (Bob@example.com)\n')
})

test('--dry-run says what would be done, by all the rules, and changes nothing', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const before = await findUserById(db, 2)
  const banned = await line.run(['user', 'ban', '2', '--dry-run', '--json'])
  assert.deepEqual([banned.code, JSON.parse(banned.stdout)], [0, { ...BOB, banned: true, dry_run: true }])
  const deleted = await line.run(['user', 'delete', '1', '2', '--dry-run', '--json'])
  assert.deepEqual([deleted.code, JSON.parse(deleted.stdout)], [1, [{ ...BOB, deleted: true, dry_run: true }]])
  assert.equal(deleted.stderr, `latchkey: 1: ${LAST_ADMIN}\nlatchkey: 1 of 2 failed\n`)
  refusedWith(await line.run(['user', 'delete', 'ada@example.com', '--dry-run']), 1, LAST_ADMIN)
  done(await line.run(['user', 'delete', '2', '--dry-run']), 'would delete user 2 (Bob@example.com)\n')
  done(await line.run(['user', 'make-admin', '2', '--dry-run']), 'would make user 2 (Bob@example.com) an admin\n')
  const users = JSON.parse((await line.run(['user', 'list', '--json'])).stdout)
  assert.deepEqual(users, [ADA, BOB, CEM])
  assert.deepEqual(await findUserById(db, 2), before)
})

test('key revoke deletes the keys that standard input names, and none with --dry-run', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  for (const name of ['one', 'two', 'three']) await line.run(['key', 'create', '2', '--name', name])
  const [one, two, three] = (await listApiKeysAfter(db, 2, 0, 10)).keys
  assert.ok(one && two && three)
  const input = `${one.id}\n${three.id.toUpperCase()}\n${one.id.toUpperCase()}\n`
  const lines = [one, three].map(({ id, name }) => `key ${id} (${name}) of user 2 (Bob@example.com)`)
  done(await line.run(['key', 'revoke', '2', '-', '--dry-run'], input), lines.map((text) => `would delete ${text}\n`).join(''))
  assert.equal((await listApiKeysAfter(db, 2, 0, 10)).keys.length, 3)
  done(await line.run(['key', 'revoke', '2', '-'], input), lines.map((text) => `deleted ${text}\n`).join(''))
  assert.deepEqual((await listApiKeysAfter(db, 2, 0, 10)).keys, [two])
})

test('a bulk change of nothing does nothing, and - cannot be combined', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { code, stdout, stderr } = await line.run(['user', 'delete', '-', '--json'], '\n# nobody\n')
  assert.deepEqual([code, stdout, stderr], [0, '[]\n', ''])
  refusedWith(
    await line.run(['user', 'delete', '-', '2'], '3\n'),
    1,
    '-: reads everything from standard input; do not combine it with other arguments',
  )
  assert.equal(JSON.parse((await line.run(['user', 'list', '--json'])).stdout).length, 3)
})

test('a bulk change ignores repeated lines, accepts CRLF and a byte order mark, and prints unreadable input harmlessly', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const input = `\ufeff2\r\n2\r\n\u001b[2Jx\r\n${'a'.repeat(5000)}\r\n`
  const { code, stdout, stderr } = await line.run(['user', 'delete', '-', '--json'], input)
  assert.deepEqual([code, JSON.parse(stdout)], [1, [{ ...BOB, deleted: true }]])
  const problem = 'USER: should be an id or an e-mail address'
  assert.equal(stderr, `latchkey: \\x1b[2Jx: ${problem}\nlatchkey: ${'a'.repeat(100)}…: ${problem}\nlatchkey: 2 of 3 failed\n`)
})
