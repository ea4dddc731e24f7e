import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import { report } from '../../../src/cli/import/run-import.ts'
import { statement } from '../../../src/storage/database.ts'
import { storedEvents } from '../../support/app/audit.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { commandLine, done } from '../../support/processes/command-line.ts'

function writeFile(t: TestContext, name: string, ...lines: (object | string)[]): string {
  const file = join(temporaryFolder(t), name)
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}

const FAIL_FUNCTION = statement({
  postgres: `create or replace function fail_import() returns trigger language plpgsql as 'begin
    if new.email_key = ''bob@example.com'' then raise exception ''no room''; end if; return new; end'`,
  sqlite: 'select 1',
})
const FAIL = statement({
  postgres: 'create trigger fail_import before insert on users for each row execute function fail_import()',
  sqlite:
    "create trigger if not exists fail_import before insert on users when new.email_key = 'bob@example.com' begin select raise(abort, 'no room'); end",
})
const RECOVER = statement({ postgres: 'drop trigger if exists fail_import on users', sqlite: 'drop trigger if exists fail_import' })
const HASHES = statement<{ password_hash: string }>('select password_hash from users order by id')
const EMAILS = statement<{ email: string }>('select email from users order by id')

nodeTest('counts that do not add up are an error, whichever of them is wrong', () => {
  const counts = { read: 10, created: 4, updated: 3, skipped: 3, rejected: 0 }
  report(counts, {}, [])
  for (const name of ['read', 'created', 'updated', 'skipped', 'rejected'] as const)
    for (const options of [{}, { json: true }] as const)
      assert.throws(() => report({ ...counts, [name]: counts[name] + 1 }, options, []), /the counts do not add up/, name)
})

test('--json prints the counts of an import as numbers, and the exit code is 1 if a user was rejected', async (t) => {
  const line = await commandLine(t)
  const file = writeFile(t, 'users.jsonl', { email: 'ada@example.com' }, { email: 'nobody' }, { email: 'ADA@example.com' })
  const rejecting = await line.run(['user', 'import', file, '--from', 'latchkey', '--json'])
  assert.deepEqual(rejecting, {
    code: 1,
    signal: null,
    stdout: '{"read":3,"created":1,"updated":0,"skipped":1,"rejected":1}\n',
    stderr: 'latchkey: line 2: email: should be an e-mail address\n',
  })
  const complete = writeFile(t, 'complete.jsonl', { email: 'ada@example.com', first_name: 'Ada' })
  const { code, stdout } = await line.run(['user', 'import', complete, '--from', 'latchkey', '--on-conflict', 'update', '--json'])
  assert.deepEqual([code, stdout], [0, '{"read":1,"created":0,"updated":1,"skipped":0,"rejected":0}\n'])
})

// A repeated address begins a new batch. What was committed before the error stays.
const FAILING: Readonly<Record<string, readonly [emails: readonly string[], committed: readonly string[]]>> = {
  'the last batch': [['ada@example.com', 'ADA@example.com', 'bob@example.com'], ['ada@example.com']],
  'the first batch': [['bob@example.com', 'BOB@example.com', 'ada@example.com'], []],
}

for (const [name, [emails, committed]] of Object.entries(FAILING))
  test(`an import whose database fails in ${name} prints no counts, ends with exit code 1 and can be completed`, async (t) => {
    const line = await commandLine(t)
    const db = await line.database()
    await db.run(FAIL_FUNCTION)
    await db.run(FAIL)
    const file = writeFile(t, 'users.jsonl', ...emails.map((email) => ({ email })))
    const args = ['user', 'import', file, '--from', 'latchkey']
    const failed = await line.run(args)
    assert.deepEqual([failed.code, failed.signal, failed.stdout], [1, null, ''])
    assert.match(failed.stderr, /no room/)
    assert.deepEqual(
      (await db.all(EMAILS)).map(({ email }) => email),
      committed,
    )
    await db.run(RECOVER)
    const [created, skipped] = [2 - committed.length, 1 + committed.length]
    done(await line.run(args), `read 3 = created ${created} + updated 0 + skipped ${skipped} + rejected 0\n`)
  })

test('an import that changes nothing leaves no event', async (t) => {
  const line = await commandLine(t)
  const file = writeFile(t, 'users.jsonl', { email: 'ada@example.com', role: 'admin' })
  await line.run(['user', 'import', file, '--from', 'latchkey'])
  const db = await line.database()
  const before = await storedEvents(db)
  done(await line.run(['user', 'import', file, '--from', 'latchkey']), 'read 1 = created 0 + updated 0 + skipped 1 + rejected 0\n')
  assert.deepEqual(await storedEvents(db), before)
})

test('--without-passwords imports a user whose plaintext password is too short without it', async (t) => {
  const line = await commandLine(t)
  const file = writeFile(t, 'users.jsonl', { email: 'ada@example.com', password: 'short' })
  const args = ['user', 'import', file, '--from', 'latchkey']
  assert.equal((await line.run(args)).stdout, 'read 1 = created 0 + updated 0 + skipped 0 + rejected 1\n')
  done(await line.run([...args, '--without-passwords']), 'read 1 = created 1 + updated 0 + skipped 0 + rejected 0\n')
  assert.deepEqual(await (await line.database()).all(HASHES), [{ password_hash: '!' }])
})

test('a listed password does not replace the one that an account has', async (t) => {
  const line = await commandLine(t)
  const blocklist = writeFile(t, 'listed.txt', 'a listed password')
  const args = (...lines: string[]) => ['user', 'import', writeFile(t, 'users.csv', 'email,password', ...lines), '--from', 'csv']
  await line.run(args('ada@example.com,a password of my own'))
  const db = await line.database()
  const before = await db.all(HASHES)
  const update = [...args('ada@example.com,a listed password'), '--on-conflict', 'update']
  const { code, stdout, stderr } = await line.run(update, '', { PASSWORD_BLOCKLIST: blocklist })
  assert.deepEqual([code, stdout], [1, 'read 1 = created 0 + updated 0 + skipped 0 + rejected 1\n'])
  assert.match(stderr, /^latchkey: line 2: password: is on a list of breached passwords/m)
  assert.deepEqual(await db.all(HASHES), before)
})
