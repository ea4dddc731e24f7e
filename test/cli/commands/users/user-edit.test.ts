import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import { createPasswords } from '../../../../src/security/password.ts'
import { statement } from '../../../../src/storage/database.ts'
import { findSessionUser, insertSession } from '../../../../src/storage/repositories/sessions/session.repository.ts'
import { findPlanName, findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { ADA, BOB, threeAccounts } from '../../../support/app/accounts.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { temporaryFolder, test } from '../../../support/databases/databases.ts'
import { commandLine, done, json, refusedWith, runLatchkey } from '../../../support/processes/command-line.ts'

const QUEUED = statement<{ kind: string; recipient: string }>('select kind, recipient from outbox')

test('user set-password sets the password and ends every session', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const now = Date.now()
  await db.transaction((tx) => insertSession(tx, { id: 'session', userId: 2, createdAt: now, expiresAt: now + 1_000_000 }))
  assert.deepEqual(json(await line.run(['user', 'set-password', '2', '--password', '-', '--json'], 'a new password\n')), BOB)
  done(
    await line.run(['user', 'set-password', '2'], 'a new password\n'),
    'set the password of user 2 (Bob@example.com) and ended all its sessions\n',
  )
  const user = await findUserById(db, 2)
  assert.equal(await createPasswords().matches('a new password', user?.passwordHash), true)
  assert.equal(await findSessionUser(db, 'session', 2, now), undefined)
  refusedWith(await line.run(['user', 'set-password', '2', '--password', 'short']), 1, '--password: should be 8 to 256 characters')
  assert.equal((await findUserById(db, 2))?.passwordHash, user?.passwordHash)
})

test('user invite mails a link for an account that does not exist yet, and refuses an address that has one', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const names = ['--first-name', 'Ida', '--last-name', 'Invited']
  const invited = json(await line.run(['user', 'invite', '--email', 'ida@example.com', ...names, '--admin', '--json']))
  assert.deepEqual(Object.keys(invited as object), ['id', 'email', 'first_name', 'last_name', 'role', 'created_at', 'expires_at'])
  assert.deepEqual(await db.all(QUEUED), [{ kind: 'invitation', recipient: 'ida@example.com' }])
  done(await line.run(['user', 'invite', '--email', 'IDA@example.com', ...names]), '1\n')
  refusedWith(
    await line.run(['user', 'invite', '--email', 'bob@example.com', ...names]),
    1,
    'an account with this e-mail address already exists',
  )
})

test('user create --json prints the full view of the API', async (t) => {
  const line = await commandLine(t)
  const person = ['--email', 'Ada@example.com', '--password', 'correct horse', '--first-name', 'Ada', '--last-name', 'Ünal']
  assert.deepEqual(json(await line.run(['user', 'create', ...person, '--admin', '--json'])), ADA)
})

test('an empty password is reported as missing, not as too short', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const noPassword = '--password: no password was given'
  refusedWith(await line.run(['user', 'set-password', '2'], ''), 1, noPassword)
  refusedWith(await line.run(['user', 'set-password', '2', '--password', '']), 1, noPassword)
  const names = ['--first-name', 'Dan', '--last-name', 'Dunn']
  refusedWith(await line.run(['user', 'create', '--email', 'dan', ...names], '\n'), 1, '--email: should be an e-mail address', noPassword)
})

test('user edit changes the fields that are given, by the rules of the API', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const before = await findUserById(db, 2)
  done(
    await line.run(['user', 'edit', 'bob@example.com', '--email', 'Robert@Example.com', '--last-name', ' Byrne ']),
    'changed the e-mail address and last name of user 2 (Robert@example.com)\n',
  )
  const after = await findUserById(db, 2)
  assert.deepEqual(
    [after?.email, after?.firstName, after?.lastName, after?.passwordHash],
    ['Robert@example.com', 'Bob', 'Byrne', before?.passwordHash],
  )
  done(await line.run(['user', 'edit', '2', '--first-name', 'Bob']), 'user 2 (Robert@example.com) already has these values\n')
  assert.deepEqual(json(await line.run(['user', 'edit', '2', '--first-name', 'Rob', '--json'])), {
    ...BOB,
    email: 'Robert@example.com',
    first_name: 'Rob',
    last_name: 'Byrne',
  })
  refusedWith(await line.run(['user', 'edit', '2', '--email', 'ADA@example.com']), 1, 'an account with this e-mail address already exists')
  refusedWith(
    await line.run(['user', 'edit', '2', '--email', 'x', '--first-name', ' ']),
    1,
    '--email: should be an e-mail address',
    '--first-name: should be 1 to 100 characters without control characters',
  )
  refusedWith(
    await line.run(['user', 'edit', '2']),
    2,
    'missing option: give at least one of --email <address>, --first-name <name>, --last-name <name>, --language <language>',
  )
  done(await line.run(['user', 'edit', '2', '--language', 'de']), 'changed the language of user 2 (Robert@example.com)\n')
  assert.equal((json(await line.run(['user', 'show', '2', '--json'])) as { language: string }).language, 'de')
  const narrowed = await line.run(['user', 'edit', '2', '--language', 'es'], '', { LANGUAGES: 'en,de' })
  refusedWith(narrowed, 1, '--language: should be one of en, de')
  refusedWith(await line.run(['user', 'edit', '9', '--first-name', 'x']), 1, 'there is no such user')
  assert.equal((await findUserById(db, 2))?.firstName, 'Rob')
})

plainTest('a command creates a secret key only when it has a change to sign', async (t) => {
  const cwd = temporaryFolder(t)
  const hasKey = () => existsSync(join(cwd, 'data', 'secret.key'))
  done(await runLatchkey(['user', 'list', '--json'], { cwd }), '[]\n')
  assert.equal(hasKey(), false)
  const person = ['--email', 'ada@example.com', '--first-name', 'Ada', '--last-name', 'A', '--password', 'correct horse']
  done(await runLatchkey(['user', 'create', ...person], { cwd }), '1\n')
  assert.equal(hasKey(), true)
})

test('a listed password is refused by user create and user set-password', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const file = join(temporaryFolder(t), 'list.txt')
  writeFileSync(file, 'listed password\n')
  const before = await findUserById(db, 2)
  const message = '--password: This password is on a list of breached passwords'
  const env = { PASSWORD_BLOCKLIST: file }
  refusedWith(await line.run(['user', 'set-password', '2'], 'listed password\n', env), 1, message)
  const dan = ['--email', 'dan@example.com', '--first-name', 'Dan', '--last-name', 'Dunn']
  refusedWith(await line.run(['user', 'create', ...dan], 'listed password\n', env), 1, message)
  assert.equal((await findUserById(db, 4))?.id, undefined)
  assert.equal((await findUserById(db, 2))?.passwordHash, before?.passwordHash)
})

test('user plan changes the plan of an account, and refuses one that PLANS does not have', async (t) => {
  const PLANS = 'free=60/m,1000/d pro=600/m,100000/d'
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const run = (...args: string[]) => line.run(['user', 'plan', ...args], '', { PLANS })
  done(await run('bob@example.com', 'pro'), 'user 2 (Bob@example.com) has the plan pro: 600/m, 100000/d\n')
  assert.deepEqual(json(await run('2', 'pro', '--json')), { plan: 'pro', limits: ['600/m', '100000/d'] })
  refusedWith(await run('2', 'gold'), 1, '<plan>: should be one of free, pro')
  refusedWith(await line.run(['user', 'plan', '2', 'pro']), 1, 'PLANS is not set, so that there are no plans')
  assert.equal((await run('4711', 'pro')).code, 1)
  assert.equal((await findPlanName(db, 2))?.plan, 'pro')
  assert.deepEqual(
    (await storedEvents(db)).map(({ kind, actor, target, via }) => [kind, actor, target, via]),
    [['user.plan_changed', null, 2, 'cli']],
  )
})
