import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { statement } from '../../../src/storage/database.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { commandLine, done } from '../../support/processes/command-line.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const LISTED = 'a listed password'

const key = (n: number) => ({ id: `key-${n}`, key_hash: String(n).repeat(64) })
// Users of one batch have nothing in common, so a repeated address or key begins a new one.
const USERS = [
  { id: 1, email: 'ada@example.com', keys: [key(1)] },
  { id: 9, email: 'ADA@example.com' },
  { id: 2, email: 'bob@example.com', keys: [{ ...key(1), id: 'key-2' }] },
  { id: 1, email: 'cem@example.com' },
  { id: 3, email: 'dan@example.com', keys: [key(3)] },
  { id: 4, email: 'DAN@example.com', keys: [key(4)] },
  { id: 5, email: 'eve@example.com', keys: [key(4)] },
  { id: 6, email: 'fay@example.com', password: LISTED },
]

const EXPECTED = {
  skip: ['read 8 = created 3 + updated 0 + skipped 2 + rejected 3\n', [3, 4, 8]],
  fail: ['read 8 = created 3 + updated 0 + skipped 0 + rejected 5\n', [2, 3, 4, 6, 8]],
  update: ['read 8 = created 2 + updated 2 + skipped 0 + rejected 4\n', [3, 4, 7, 8]],
} as const

for (const [onConflict, [counts, rejectedLines]] of Object.entries(EXPECTED))
  test(`--dry-run --on-conflict ${onConflict} reports what the import does about users that share an address, an id or a key`, async (t) => {
    const line = await commandLine(t)
    const folder = temporaryFolder(t)
    const file = join(folder, 'users.jsonl')
    const blocklist = join(folder, 'listed.txt')
    writeFileSync(file, USERS.map((user) => `${JSON.stringify(user)}\n`).join(''))
    writeFileSync(blocklist, `${LISTED}\n`)
    const args = ['user', 'import', file, '--from', 'latchkey', '--keep-ids', '--on-conflict', onConflict]
    const settings = { PASSWORD_BLOCKLIST: blocklist }
    const rehearsed = await line.run([...args, '--dry-run'], '', settings)
    assert.equal((await (await line.database()).first(COUNT))?.count, 0)
    const imported = await line.run(args, '', settings)
    const rejections = (stderr: string) => stderr.match(/^latchkey: line .*$/gm)
    assert.deepEqual([imported.code, imported.stdout], [1, counts])
    assert.deepEqual(
      rejections(imported.stderr)
        ?.map((text) => Number(/line (\d+)/.exec(text)?.[1]))
        .toSorted((a, b) => a - b),
      rejectedLines,
    )
    assert.equal(rehearsed.stdout, `dry run: nothing was imported\n${counts}`)
    assert.deepEqual(rejections(rehearsed.stderr), rejections(imported.stderr))
  })

for (const options of [['--keep-ids'], []])
  test(`--dry-run ${options.join(' ')} leaves the ids of later accounts as they were`, async (t) => {
    const line = await commandLine(t)
    const file = join(temporaryFolder(t), 'users.jsonl')
    // The second address begins a new batch, in which the first user is rehearsed again.
    writeFileSync(
      file,
      USERS.slice(0, 2)
        .map((user) => JSON.stringify({ ...user, id: user.id + 70 }))
        .join('\n'),
    )
    done(
      await line.run(['user', 'import', file, '--from', 'latchkey', ...options, '--dry-run']),
      'dry run: nothing was imported\nread 2 = created 1 + updated 0 + skipped 1 + rejected 0\n',
    )
    const person = ['--email', 'bob@example.com', '--first-name', 'B', '--last-name', 'B']
    done(await line.run(['user', 'create', ...person], 'a good password\n'), '1\n')
  })
