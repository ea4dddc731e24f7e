import assert from 'node:assert/strict'
import { secretsOf } from '../../../../src/process/secrets.ts'
import { remainingWork } from '../../../../src/security/foreign/equal-work.ts'
import { boundedWork } from '../../../../src/security/foreign/login-work.ts'
import { createPasswords } from '../../../../src/security/password.ts'
import { createServices } from '../../../../src/services.ts'
import { statement } from '../../../../src/storage/database.ts'
import { listForeignKinds } from '../../../../src/storage/repositories/import/import.repository.ts'
import { findUserByEmail } from '../../../../src/storage/repositories/users/user.repository.ts'
import { importUser } from '../../../support/app/accounts.ts'
import { member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../../support/http/origins.ts'
import { forgotPassword, login, newEmail, PASSWORD, resetPassword } from '../../../support/http/requests.ts'

// Both of `correct horse battery`, made with bcrypt of Python and with hashlib.
const BCRYPT = '$2b$04$aXXuO9tH/gajnbIC9trmyOiTGmSBo9/zUipglarujl1zgQM./sFD2'
const PBKDF2 = 'pbkdf2_sha256$1500$abcdefgh$IrrbhJgwmeEBRVPfgycAUVlpDL4jPRk4oaW0rXxXGDw='
const FOREIGN_ROW = statement<{ password_hash: string; foreign_kind: string | null }>(
  'select password_hash, foreign_kind from users where email_key = $1',
)
const SET_KIND = statement('update users set foreign_kind = $2 where email_key = $1')

/** The kinds of foreign hashes that logins to these accounts are compared with. */
async function comparedKinds({ db, config, clock }: TestApp, ...emails: string[]): Promise<(readonly string[])[]> {
  const compared: (readonly string[])[] = []
  const passwords = {
    ...createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 }),
    async matches(_password: string, _hash: string | undefined, _signal?: AbortSignal, kinds: readonly string[] = []) {
      compared.push(kinds)
      return false
    },
  }
  const { login: service } = createServices(config, { db, secrets: () => secretsOf(config), now: clock.now, passwords })
  for (const email of emails) await assert.rejects(service.api.byPassword(ORIGIN, email, PASSWORD))
  return compared
}

test('200: the first login with a hash of another system replaces it, and later logins use the new hash', async (t) => {
  const { app, db } = await startApp(t)
  await importUser(db, { email: 'ada@example.com', password_hash: BCRYPT })
  assert.deepEqual(await listForeignKinds(db, 64), ['bcrypt/16'])
  refused(await app.inject(login({ email: 'ada@example.com', password: 'a wrong password' })), 400, 'Wrong email or password')
  assert.deepEqual(await db.first(FOREIGN_ROW, 'ada@example.com'), { password_hash: BCRYPT, foreign_kind: 'bcrypt/16' })
  assert.equal((await app.inject(login({ email: 'ada@example.com' }))).statusCode, 200)
  const row = await db.first(FOREIGN_ROW, 'ada@example.com')
  assert.match(row?.password_hash ?? '', /^\$argon2id\$/)
  assert.equal(row?.foreign_kind, null)
  assert.deepEqual(await listForeignKinds(db, 64), [])
  assert.equal((await app.inject(login({ email: 'ada@example.com' }))).statusCode, 200)
  assert.deepEqual(await db.first(FOREIGN_ROW, 'ada@example.com'), row)
})

test('the kinds of foreign hashes are listed once each, without those of the service itself', async (t) => {
  const service = await startApp(t)
  await member(service)
  assert.deepEqual(await listForeignKinds(service.db, 64), [])
  for (let n = 0; n < 3; n++) {
    await importUser(service.db, { email: `ada${n}@example.com`, password_hash: BCRYPT })
    await importUser(service.db, { email: `bob${n}@example.com`, password_hash: PBKDF2 })
  }
  await importUser(service.db, { email: 'cem@example.com' })
  assert.deepEqual((await listForeignKinds(service.db, 64)).sort(), ['bcrypt/16', 'pbkdf2-sha256/1536'])
  assert.equal((await listForeignKinds(service.db, 1)).length, 1)
})

test('400: a password change during the login wins over the replacement of a foreign hash', async (t) => {
  const { db, config, clock } = await startApp(t)
  await importUser(db, { email: 'ada@example.com', password_hash: BCRYPT })
  const cheap = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const parts = { db, secrets: () => secretsOf(config), now: clock.now }
  const { users } = createServices(config, { ...parts, passwords: cheap })
  const user = await findUserByEmail(db, 'ada@example.com')
  const passwords = {
    ...cheap,
    async hash(password: string) {
      await users.changePassword(OPERATOR, user?.id ?? 0, 'another good password')
      return cheap.hash(password)
    },
  }
  const { login: service } = createServices(config, { ...parts, passwords })
  await assert.rejects(service.api.byPassword(ORIGIN, 'ada@example.com', PASSWORD), { code: 'wrong_credentials' })
  const row = await db.first(FOREIGN_ROW, 'ada@example.com')
  assert.equal(await cheap.matches('another good password', row?.password_hash), true)
  assert.equal(row?.foreign_kind, null)
})

test('200: an account that was imported without a password gets one by mail, and no password fits before', async (t) => {
  const { app, db, mailbox } = await startApp(t)
  await importUser(db, { email: 'ada@example.com' })
  for (const password of ['', '!', PASSWORD])
    refused(await app.inject(login({ email: 'ada@example.com', password })), 400, 'Wrong email or password')
  await app.inject(forgotPassword('ada@example.com'))
  const code = await mailbox.codeFor('ada@example.com')
  assert.equal((await app.inject(resetPassword({ code, new_password: 'another good password' }))).statusCode, 200)
  assert.equal((await app.inject(login({ email: 'ada@example.com', password: 'another good password' }))).statusCode, 200)
})

test('200: a reset by mail replaces a foreign hash', async (t) => {
  const { app, db, mailbox } = await startApp(t)
  await importUser(db, { email: 'ada@example.com', password_hash: PBKDF2 })
  await app.inject(forgotPassword('ada@example.com'))
  const code = await mailbox.codeFor('ada@example.com')
  assert.equal((await app.inject(resetPassword({ code, new_password: 'another good password' }))).statusCode, 200)
  assert.deepEqual(await listForeignKinds(db, 64), [])
})

test('a login computes the most expensive hash of each algorithm, however many kinds release 0.8.0 has stored', async (t) => {
  const service = await startApp(t)
  for (let n = 0; n < 100; n++) {
    await importUser(service.db, { email: `user${n}@example.com`, password_hash: PBKDF2 })
    // As text, the most expensive is the last but one.
    await service.db.run(SET_KIND, `user${n}@example.com`, `pbkdf2-sha256/${n === 98 ? 990_000 : 90_000 + n}`)
  }
  await importUser(service.db, { email: 'ada@example.com', password_hash: BCRYPT })
  const [kinds = []] = await comparedKinds(service, 'ada@example.com')
  const work = remainingWork(
    undefined,
    boundedWork(kinds, () => 0),
  )
  assert.deepEqual(
    work.toSorted((one, other) => one.amount - other.amount),
    [
      { family: 'bcrypt', amount: 16 },
      { family: 'pbkdf2-sha256', amount: 1_015_808 },
    ],
  )
})

test('while foreign hashes exist, every login is compared with their kinds: native, foreign and unknown', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await importUser(service.db, { email: 'ada@example.com', password_hash: BCRYPT })
  assert.deepEqual(await comparedKinds(service, mia.email, 'ada@example.com', newEmail()), [['bcrypt/16'], ['bcrypt/16'], ['bcrypt/16']])
})

test('hashes of release 0.9.0 that are too expensive for this machine are not computed: others log in, and their owners reset them', async (t) => {
  // On this machine, bcrypt 4 takes two seconds.
  const measured = (family: string) => (family === 'bcrypt' ? 2000 / 16 : 0.0001)
  const passwords = createPasswords(
    { memoryKiB: 64, passes: 1, maxWaitMs: 30_000 },
    async (families) => new Map(families.map((family) => [family, measured(family)])),
  )
  const service = await startApp(t, { passwords })
  const { app, db, mailbox } = service
  const mia = await member(service)
  await importUser(db, { email: 'ada@example.com', password_hash: BCRYPT })
  await importUser(db, { email: 'bob@example.com', password_hash: PBKDF2 })
  for (const { email } of [mia, { email: 'bob@example.com' }]) assert.equal((await app.inject(login({ email }))).statusCode, 200)
  refused(await app.inject(login({ email: 'ada@example.com' })), 400, 'Wrong email or password')
  await app.inject(forgotPassword('ada@example.com'))
  const code = await mailbox.codeFor('ada@example.com')
  assert.equal((await app.inject(resetPassword({ code, new_password: 'another good password' }))).statusCode, 200)
  assert.equal((await app.inject(login({ email: 'ada@example.com', password: 'another good password' }))).statusCode, 200)
})
