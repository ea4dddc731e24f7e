import assert from 'node:assert/strict'
import { listApiKeysAfter } from '../../../src/storage/repositories/api-key.repository.ts'
import { findUserById } from '../../../src/storage/repositories/user.repository.ts'
import { ADA, BOB, CEM, threeAccounts } from '../../support/app/accounts.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, refusedWith } from '../../support/processes/command-line.ts'

const LAST_ADMIN = 'this is the last admin; make another account an admin first'

test('a bulk change takes ids and addresses from standard input, tells each failure in a line, does the rest and ends with 1', async (t) => {
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

test('several accounts may be named in one command, and are shown in one table', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { code, stdout, stderr } = await line.run(['user', 'make-admin', '2', 'cem@example.com'])
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^ID .*\n2 .* admin .*\n3 .* admin .*\n$/)
})

test('--dry-run shows what would be, by all the rules, and changes nothing', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const before = await findUserById(db, 2)
  const banned = await line.run(['user', 'ban', '2', '--dry-run', '--json'])
  assert.deepEqual([banned.code, JSON.parse(banned.stdout)], [0, { ...BOB, banned: true }])
  const deleted = await line.run(['user', 'delete', '1', '2', '--dry-run', '--json'])
  assert.deepEqual([deleted.code, JSON.parse(deleted.stdout)], [1, [BOB]])
  assert.equal(deleted.stderr, `latchkey: 1: ${LAST_ADMIN}\nlatchkey: 1 of 2 failed\n`)
  refusedWith(await line.run(['user', 'delete', 'ada@example.com', '--dry-run']), 1, LAST_ADMIN)
  const users = JSON.parse((await line.run(['user', 'list', '--json'])).stdout)
  assert.deepEqual(users, [ADA, BOB, CEM])
  assert.deepEqual(await findUserById(db, 2), before)
})

test('key revoke deletes the keys that standard input names, and with --dry-run none', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  for (const name of ['one', 'two', 'three']) await line.run(['key', 'create', '2', '--name', name])
  const [one, two, three] = (await listApiKeysAfter(db, 2, 0, 10)).keys
  assert.ok(one && two && three)
  const input = `${one.id}\n${three.id.toUpperCase()}\n`
  const dry = await line.run(['key', 'revoke', '2', '-', '--dry-run', '--json'], input)
  assert.equal((await listApiKeysAfter(db, 2, 0, 10)).keys.length, 3)
  const real = await line.run(['key', 'revoke', '2', '-', '--json'], input)
  assert.deepEqual([real.code, real.stdout, real.stderr], [0, dry.stdout, ''])
  assert.deepEqual((await listApiKeysAfter(db, 2, 0, 10)).keys, [two])
})

test('a bulk change of nothing does nothing, and - stands alone', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { code, stdout, stderr } = await line.run(['user', 'delete', '-', '--json'], '\n# nobody\n')
  assert.deepEqual([code, stdout, stderr], [0, '[]\n', ''])
  refusedWith(
    await line.run(['user', 'delete', '-', '2'], '3\n'),
    1,
    '-: reads everything from standard input; name nothing else beside it',
  )
  assert.equal(JSON.parse((await line.run(['user', 'list', '--json'])).stdout).length, 3)
})

test('a bulk change does each once, takes lines of any system, and shows what it could not read without obeying it', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const input = `\ufeff2\r\n2\r\n\u001b[2Jx\r\n${'a'.repeat(5000)}\r\n`
  const { code, stdout, stderr } = await line.run(['user', 'delete', '-', '--json'], input)
  assert.deepEqual([code, JSON.parse(stdout)], [1, [BOB]])
  const complaint = 'USER: should be an id or an e-mail address'
  assert.equal(stderr, `latchkey: \ufffd[2Jx: ${complaint}\nlatchkey: ${'a'.repeat(100)}…: ${complaint}\nlatchkey: 2 of 3 failed\n`)
})
