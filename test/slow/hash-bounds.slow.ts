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
