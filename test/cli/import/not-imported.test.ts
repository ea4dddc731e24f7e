import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { statement } from '../../../src/storage/database.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { commandLine } from '../../support/processes/command-line.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')

function writeFile(t: TestContext, content: string | readonly object[]): string {
  const file = join(temporaryFolder(t), 'users')
  writeFileSync(file, typeof content === 'string' ? content : content.map((user) => `${JSON.stringify(user)}\n`).join(''))
  return file
}

test('columns that are not known are named with the number of their users: in a dry run, before a refusal, in an import and in JSON', async (t) => {
  const line = await commandLine(t)
  const file = writeFile(
    t,
    'Email,First Name,last name,id,note\nada@example.com,Ada,Lovelace,1,\nbob@example.com,Bob,,2,\ncem@example.com,,,3\ndan@example.com,,,4,,x\n',
  )
  const args = ['user', 'import', file, '--from', 'csv']
  const named = 'not imported: "first name" (2 users)\nnot imported: "last name" (1 user)\n'
  const rejected = 'latchkey: line 4: has 4 columns instead of 5\nlatchkey: line 5: has 6 columns instead of 5\n'
  const counts = 'read 4 = created 2 + updated 0 + skipped 0 + rejected 2\n'
  const rehearsed = await line.run([...args, '--dry-run'])
  assert.deepEqual([rehearsed.code, rehearsed.stdout, rehearsed.stderr], [1, `dry run: nothing was imported\n${counts}`, named + rejected])
  await line.run(['user', 'import', writeFile(t, [{ email: 'eve@example.com' }]), '--from', 'latchkey'])
  const db = await line.database()
  const refused = await line.run([...args, '--keep-ids'])
  assert.ok(refused.stderr.startsWith(`${named}latchkey: --keep-ids: the database is not empty`), refused.stderr)
  assert.equal((await db.first(COUNT))?.count, 1)
  const imported = await line.run(args)
  assert.deepEqual([imported.code, imported.stdout, imported.stderr], [1, counts, named + rejected])
  const again = await line.run([...args, '--json'])
  assert.equal(again.stderr, named + rejected)
  assert.deepEqual(JSON.parse(again.stdout), {
    read: 4,
    created: 0,
    updated: 0,
    skipped: 2,
    rejected: 2,
    not_imported: [
      { field: 'first name', users: 2 },
      { field: 'last name', users: 1 },
    ],
  })
})

test('fields of the format of Latchkey that are misspelled are named by their path, also those of keys, and each user counts once', async (t) => {
  const line = await commandLine(t)
  const keys = [
    { id: 'a', scope: ['read'] },
    { id: 'b', scope: ['read'], retiring_secrets: [{ hash: 'x' }] },
  ]
  const file = writeFile(t, [
    { email: 'ada@example.com', firstname: 'Ada', keys: [{ id: 'c', scope: [] }] },
    { email: 'bob@example.com', firstname: 'Bob', keys, metadata: { theme: 'dark' } },
    { email: 'cem@example.com', firstname: null, metadata: {} },
  ])
  const { stderr } = await line.run(['user', 'import', file, '--from', 'latchkey', '--dry-run'])
  assert.deepEqual(stderr.match(/^not imported.*$/gm), [
    'not imported: "firstname" (2 users)',
    'not imported: "keys.scope" (1 user)',
    'not imported: "keys.retiring_secrets.hash" (1 user)',
    'not imported: "metadata" (1 user)',
  ])
})

test('a file of rejects can be imported with the same command, and its reasons are not named', async (t) => {
  const line = await commandLine(t)
  const rejects = join(temporaryFolder(t), 'rejects.jsonl')
  const file = writeFile(t, [
    { email: 'nobody', name: 'Ada' },
    { email: 'bob@example.com', email_verified: true },
  ])
  await line.run(['user', 'import', file, '--from', 'auth0', '--rejects', rejects])
  const again = await line.run(['user', 'import', rejects, '--from', 'auth0'])
  assert.deepEqual([again.code, again.stderr], [1, 'latchkey: line 1: email: should be an e-mail address\n'])
})
