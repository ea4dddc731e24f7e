import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createPasswords } from '../../../src/security/password.ts'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { findUserByEmail, findUserById, insertUser } from '../../../src/storage/repositories/users/user.repository.ts'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { runLatchkey } from '../../support/processes/command-line.ts'
import { LATCHKEY } from '../../support/processes/processes.ts'
import { NO_TERMINAL } from '../../support/processes/shell-page.ts'

const CREATE = ['user', 'create', '--email', 'ada@example.com', '--first-name', 'Ada', '--last-name', 'Admin']
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const QUESTION = 'Delete user 1 (bob@example.com) with all sessions and API keys? This cannot be undone. [y/N] '

/** Runs latchkey on a terminal, on which a person responds to prompts, and which `script` of util-linux simulates. `shown` is everything that the terminal shows. */
async function atTerminal(
  cwd: string,
  args: readonly string[],
  dialogue: readonly (readonly [prompt: string, typed: string])[],
): Promise<{ readonly code: unknown; readonly shown: string }> {
  const command = [process.execPath, LATCHKEY, ...args].map((part) => `'${part}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd, env: { PATH: process.env['PATH'] } })
  const closed = once(child, 'close')
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  for (const [prompt, typed] of dialogue) {
    const from = shown.length
    await until(`the terminal shows ${prompt}`, () => shown.slice(Math.max(0, from - prompt.length)).includes(prompt))
    child.stdin.write(typed)
  }
  const [code] = await closed
  return { code, shown }
}

/** A folder with a database that has the users bob and cem. */
async function twoUsers(t: TestContext) {
  const cwd = temporaryFolder(t)
  const target = { kind: 'sqlite', file: join(cwd, 'data', 'latchkey.db') } as const
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  const person = { firstName: 'B', lastName: 'C', passwordHash: 'none', role: 'user', verified: true, createdAt: 1 } as const
  for (const email of ['bob@example.com', 'cem@example.com'])
    await db.transaction((tx) => insertUser(tx, { ...person, email, emailKey: email }))
  const remaining = async () => (await Promise.all([1, 2].map((id) => findUserById(db, id)))).flatMap((user) => (user ? [user.id] : []))
  return { cwd, remaining }
}

test('user create asks for the password twice and does not show it', { skip: NO_TERMINAL }, async (t) => {
  const cwd = temporaryFolder(t)
  const { code, shown } = await atTerminal(cwd, CREATE, [
    ['Password: ', 'a goood\u007f\u007fd password\r'],
    ['Repeat password: ', 'a good password\r'],
  ])
  assert.deepEqual([code, shown], [0, 'Password: \r\nRepeat password: \r\ncreated user 1 (ada@example.com)\r\n'])
  const db = await openDatabase({ kind: 'sqlite', file: join(cwd, 'data', 'latchkey.db') })
  t.after(() => db.close())
  const user = await findUserByEmail(db, 'ada@example.com')
  assert.equal(await createPasswords().matches('a good password', user?.passwordHash), true)
})

test('passwords that do not match, and an empty one, change nothing', { skip: NO_TERMINAL }, async (t) => {
  const differing = await atTerminal(temporaryFolder(t), CREATE, [
    ['Password: ', 'a good password\r'],
    ['Repeat password: ', 'a good passwort\r'],
  ])
  const mismatch = 'Password: \r\nRepeat password: \r\nlatchkey: the passwords do not match; nothing was changed\r\n'
  assert.deepEqual(differing, { code: 1, shown: mismatch })
  const empty = await atTerminal(temporaryFolder(t), CREATE, [['Password: ', '\r']])
  assert.deepEqual(empty, { code: 1, shown: 'Password: \r\nlatchkey: --password: no password was given\r\n' })
})

test('a password is not asked for when another option is invalid', { skip: NO_TERMINAL }, async (t) => {
  const invalid = CREATE.map((arg) => (arg === 'ada@example.com' ? 'ada' : arg))
  const { code, shown } = await atTerminal(temporaryFolder(t), invalid, [])
  assert.deepEqual([code, shown], [1, 'latchkey: --email: should be an e-mail address\r\n'])
})

test('Ctrl-C or Ctrl-D at the password cancels the command', { skip: NO_TERMINAL }, async (t) => {
  for (const key of [CTRL_C, CTRL_D]) {
    const { code, shown } = await atTerminal(temporaryFolder(t), CREATE, [['Password: ', key]])
    assert.deepEqual([code, shown], [1, 'Password: \r\nlatchkey: cancelled; nothing was changed\r\n'])
  }
})

test('user delete asks on a terminal, and anything but yes deletes nothing', { skip: NO_TERMINAL }, async (t) => {
  const { cwd, remaining } = await twoUsers(t)
  const answers = ['\r', 'n\r', 'yesterday\r', CTRL_C, CTRL_D]
  for (const refused of await Promise.all(answers.map((typed) => atTerminal(cwd, ['user', 'delete', '1'], [[QUESTION, typed]])))) {
    assert.equal(refused.code, 1)
    assert.ok(refused.shown.includes('latchkey: cancelled; nothing was changed\r\n'), JSON.stringify(refused.shown))
  }
  assert.deepEqual(await remaining(), [1, 2])
  const { code, shown } = await atTerminal(cwd, ['user', 'delete', '1'], [[QUESTION, 'y\r']])
  assert.equal(code, 0)
  assert.ok(shown.endsWith('deleted user 1 (bob@example.com)\r\n'), JSON.stringify(shown))
  assert.deepEqual(await remaining(), [2])
})

test('user delete asks once for several accounts, and lists them', { skip: NO_TERMINAL }, async (t) => {
  const { cwd, remaining } = await twoUsers(t)
  const dialogue = [['Delete these 2 users with all sessions and API keys? This cannot be undone. [y/N] ', 'yes\r']] as const
  const { code, shown } = await atTerminal(cwd, ['user', 'delete', '1', 'cem@example.com', 'bob@example.com'], dialogue)
  assert.equal(code, 0)
  assert.ok(shown.includes('  user 1 (bob@example.com)\r\n  user 2 (cem@example.com)\r\nDelete these 2'), JSON.stringify(shown))
  assert.deepEqual(await remaining(), [])
})

test('--yes, --dry-run and a script are not asked', { skip: NO_TERMINAL }, async (t) => {
  const { cwd, remaining } = await twoUsers(t)
  const dry = await atTerminal(cwd, ['user', 'delete', '1', '--dry-run'], [])
  assert.deepEqual(dry, { code: 0, shown: 'would delete user 1 (bob@example.com)\r\n' })
  const sure = await atTerminal(cwd, ['user', 'delete', '1', '--yes'], [])
  assert.deepEqual(sure, { code: 0, shown: 'deleted user 1 (bob@example.com)\r\n' })
  const script = await runLatchkey(['user', 'delete', '2'], { cwd })
  assert.deepEqual([script.code, script.stdout, script.stderr], [0, 'deleted user 2 (cem@example.com)\n', ''])
  assert.deepEqual(await remaining(), [])
})

test('ban, which can be undone, asks nothing', { skip: NO_TERMINAL }, async (t) => {
  const { cwd } = await twoUsers(t)
  assert.deepEqual(await atTerminal(cwd, ['user', 'ban', '1'], []), { code: 0, shown: 'banned user 1 (bob@example.com)\r\n' })
})
