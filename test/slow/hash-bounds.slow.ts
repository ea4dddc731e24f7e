import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_FOREIGN_KINDS } from '../../src/security/foreign/foreign-hash.ts'
import { listForeignKinds } from '../../src/storage/repositories/import/import.repository.ts'
import { temporaryFolder, test } from '../support/databases/databases.ts'
import { commandLine } from '../support/processes/command-line.ts'

const SALT = 'c2FsdHNhbHRzYWx0c2FsdA'
const KEY = 'a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5'
const argon2 = (memoryKiB: number) => `$argon2id$v=19$m=${memoryKiB},t=1,p=1$${SALT}$${KEY}`

test('the hashes of most users are accepted, wherever they are in the file: in a dry run and in an import', async (t) => {
  const line = await commandLine(t)
  const surplus = 3
  const costs = Array.from({ length: MAX_FOREIGN_KINDS + surplus }, (_, n) => n + 8)
  // Two users have each of the last three costs, and one user each of the others.
  const users = [...costs, ...costs.slice(-surplus)].map((cost, n) => ({ email: `user-${n}@example.com`, password_hash: argon2(cost) }))
  const rejected = new Set(costs.slice(-2 * surplus, -surplus).map(argon2))
  const counts = `read ${users.length} = created ${users.length - surplus} + updated 0 + skipped 0 + rejected ${surplus}\n`
  const again = `read ${users.length} = created 0 + updated 0 + skipped ${users.length - surplus} + rejected ${surplus}\n`
  for (const [order, args, stdout] of [
    [users, ['--dry-run'], `dry run: nothing was imported\n${counts}`],
    [users.toReversed(), ['--dry-run'], `dry run: nothing was imported\n${counts}`],
    [users, [], counts],
    [users.toReversed(), [], again],
  ] as const) {
    const file = join(temporaryFolder(t), 'users.jsonl')
    writeFileSync(file, order.map((user) => `${JSON.stringify(user)}\n`).join(''))
    const run = await line.run(['user', 'import', file, '--from', 'latchkey', ...args])
    const lines = order.flatMap(({ password_hash }, n) => (rejected.has(password_hash) ? [`line ${n + 1}`] : []))
    assert.deepEqual([run.code, run.stdout, run.stderr.match(/line \d+/g)], [1, stdout, lines])
  }
})

test('hashes that would make every login slow are rejected by what they cost on this machine: in a dry run and in an import', async (t) => {
  const line = await commandLine(t, { isOwnProcess: true })
  const file = join(temporaryFolder(t), 'users.jsonl')
  // bcrypt 14 takes about a second.
  const users = [
    { email: 'usual@example.com', password_hash: `$2b$08$${'X'.repeat(53)}` },
    { email: 'dear@example.com', password_hash: `$2b$14$${'X'.repeat(53)}` },
    { email: 'also-usual@example.com', password_hash: argon2(1024) },
  ]
  writeFileSync(file, users.map((user) => `${JSON.stringify(user)}\n`).join(''))
  const importing = (...args: string[]) => line.run(['user', 'import', file, '--from', 'latchkey', ...args])
  const reason =
    /^latchkey: line 2: password_hash: bcrypt 14 takes \d+ ms on this machine, and each login would cost \d+ ms of one core; at most 500 ms are accepted; --without-passwords imports the user for a reset by mail\n$/
  const counts = 'read 3 = created 2 + updated 0 + skipped 0 + rejected 1\n'
  const rehearsed = await importing('--dry-run')
  assert.deepEqual([rehearsed.code, rehearsed.stdout], [1, `dry run: nothing was imported\n${counts}`])
  assert.match(rehearsed.stderr, reason)
  const first = await importing()
  assert.deepEqual([first.code, first.stdout], [1, counts])
  assert.match(first.stderr, reason)
  const second = await importing('--without-passwords')
  const expected = { code: 0, signal: null, stdout: 'read 3 = created 1 + updated 0 + skipped 2 + rejected 0\n', stderr: '' }
  assert.deepEqual(second, expected)
  assert.deepEqual((await listForeignKinds(await line.database(), 1000)).sort(), ['argon2id 1024 1 1/1', 'bcrypt/256'])
})

test('hashes of so many different costs that every login would be slow are rejected: in a dry run, in an import and in a second one', async (t) => {
  const line = await commandLine(t, { isOwnProcess: true })
  const file = join(temporaryFolder(t), 'users.jsonl')
  const [tooMany, surplus] = [MAX_FOREIGN_KINDS + 3, 3]
  const users = Array.from({ length: tooMany }, (_, n) => ({ email: `user-${n}@example.com`, password_hash: argon2(n + 8) }))
  // A cost that another account has is accepted again.
  const last = { email: 'last@example.com', password_hash: argon2(8) }
  writeFileSync(file, [...users, last].map((user) => `${JSON.stringify(user)}\n`).join(''))
  const importing = (...args: string[]) => line.run(['user', 'import', file, '--from', 'latchkey', ...args])
  const reason =
    'password_hash: accounts have hashes of too many other costs, all of which each login has to compute; --without-passwords imports the user for a reset by mail'
  const rejections = [1, 2, 3].map((n) => `latchkey: line ${MAX_FOREIGN_KINDS + n}: ${reason}\n`).join('')
  const created = tooMany - surplus + 1
  const counts = `read ${tooMany + 1} = created ${created} + updated 0 + skipped 0 + rejected ${surplus}\n`
  const rehearsed = await importing('--dry-run')
  assert.deepEqual([rehearsed.code, rehearsed.stdout, rehearsed.stderr], [1, `dry run: nothing was imported\n${counts}`, rejections])
  const first = await importing()
  assert.deepEqual([first.code, first.stdout, first.stderr], [1, counts, rejections])
  const second = await importing()
  assert.deepEqual(
    [second.code, second.stdout, second.stderr],
    [1, `read ${tooMany + 1} = created 0 + updated 0 + skipped ${created} + rejected ${surplus}\n`, rejections],
  )
  const third = await importing('--without-passwords')
  assert.deepEqual(
    [third.code, third.stdout, third.stderr],
    [0, `read ${tooMany + 1} = created ${surplus} + updated 0 + skipped ${created} + rejected 0\n`, ''],
  )
  assert.equal((await listForeignKinds(await line.database(), 1000)).length, MAX_FOREIGN_KINDS)
})
