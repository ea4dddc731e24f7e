import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createPasswords, type Passwords } from '../../../src/security/password.ts'
import { createServices } from '../../../src/services.ts'
import { statement } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { findUserByEmail, findUserById } from '../../../src/storage/repositories/users/user.repository.ts'
import { servicesOn } from '../../support/app/accounts.ts'
import { emailChangeCode, member } from '../../support/app/actors.ts'
import { eventually } from '../../support/app/eventually.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { freshDatabase, test } from '../../support/databases/databases.ts'
import { actorOf } from '../../support/http/origins.ts'
import { injectPatiently } from '../../support/http/patience.ts'
import { confirmEmail, login, newEmail, PASSWORD, register, resetPassword, verify } from '../../support/http/requests.ts'
import { startProcess } from '../../support/processes/service-process.ts'

const COUNT_USERS = statement<{ count: number }>('select count(*) as count from users')
const COUNT_SESSIONS = statement<{ count: number }>('select count(*) as count from sessions')

function tally(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test('exactly one of 50 parallel verifications with one code succeeds', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { verified: false })
  const request = verify(service.services.tokens.forMail('verify', mia.id, mia.emailVersion))
  const responses = await Promise.all(Array.from({ length: 50 }, () => injectPatiently(service.app, request)))
  assert.deepEqual(tally(responses.map(({ statusCode }) => statusCode)), { 200: 1, 401: 49 })
})

test('exactly one of 50 parallel resets with one code succeeds, and its password is set', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const passwords = Array.from({ length: 50 }, (_, index) => `new password ${index}`)
  const responses = await Promise.all(passwords.map((new_password) => injectPatiently(service.app, resetPassword({ code, new_password }))))
  const statuses = responses.map(({ statusCode }) => statusCode)
  assert.deepEqual(tally(statuses), { 200: 1, 401: 49 })
  const winner = passwords[statuses.indexOf(200)]
  assert.equal((await service.app.inject(login({ email: mia.email, password: winner }))).statusCode, 200)
})

test('exactly one of 50 parallel confirmations of one new address succeeds', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const email = newEmail()
  const request = confirmEmail(await emailChangeCode(service, mia, email))
  const responses = await Promise.all(Array.from({ length: 50 }, () => injectPatiently(service.app, request)))
  assert.deepEqual(tally(responses.map(({ statusCode }) => statusCode)), { 200: 1, 401: 49 })
  assert.equal((await findUserById(service.db, mia.id))?.email, email)
})

test('exactly one of several accounts that confirm the same new address at once gets it', async (t) => {
  const service = await startApp(t)
  const email = newEmail()
  const people = await Promise.all(Array.from({ length: 10 }, () => member(service)))
  const codes: string[] = []
  for (const person of people) codes.push(await emailChangeCode(service, person, email))
  const responses = await Promise.all(codes.map((code) => injectPatiently(service.app, confirmEmail(code))))
  const statuses = responses.map(({ statusCode }) => statusCode)
  assert.deepEqual(tally(statuses), { 200: 1, 400: 9 })
  assert.equal((await findUserByEmail(service.db, email))?.id, people[statuses.indexOf(200)]?.id)
})

test('a confirmation during a password reset does not change the address after it', async (t) => {
  const service = await startApp(t)
  for (let round = 0; round < 10; round++) {
    const mia = await member(service)
    const email = newEmail()
    const confirmation = confirmEmail(await emailChangeCode(service, mia, email))
    const reset = resetPassword({ code: service.services.tokens.forMail('reset', mia.id, mia.resetVersion) })
    const [confirmed, changed] = await Promise.all([service.app.inject(confirmation), service.app.inject(reset)])
    // The second of the two finds another version of the account.
    assert.deepEqual([confirmed.statusCode, changed.statusCode].sort(), [200, 401])
    assert.equal((await findUserById(service.db, mia.id))?.email, confirmed.statusCode === 200 ? email : mia.email)
  }
})

test('exactly one of 100 parallel registrations of one address, in any case, succeeds, with one mail and one session', async (t) => {
  const service = await startApp(t)
  const spell = (index: number) =>
    Array.from('mia@example.com', (letter, place) => ((index >> (place % 7)) & 1 ? letter.toUpperCase() : letter)).join('')
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, index) => injectPatiently(service.app, register({ email: spell(index) }))),
  )
  assert.deepEqual(tally(responses.map(({ statusCode }) => statusCode)), { 201: 1, 400: 99 })
  assert.equal((await service.db.first(COUNT_USERS))?.count, 1)
  assert.equal((await service.db.first(COUNT_SESSIONS))?.count, 1)
  assert.equal((await service.mailbox.messages()).length, 1)
})

test('a login during a password reset gets no session that outlives the reset', async (t) => {
  const service = await startApp(t)
  for (let round = 0; round < 10; round++) {
    const mia = await member(service)
    const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
    const logins = Array.from({ length: 5 }, () => service.app.inject(login({ email: mia.email, password: mia.password })))
    const [reset, ...attempts] = await Promise.all([service.app.inject(resetPassword({ code })), ...logins])
    assert.equal(reset?.statusCode, 200)
    for (const attempt of attempts.filter(({ statusCode }) => statusCode === 200)) {
      const response = await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: attempt.json().refresh } })
      assert.equal(response.statusCode, 401)
    }
  }
})

test('401: an edit that is in progress when the owner resets the password changes neither password nor address', async (t) => {
  const service = await startApp(t)
  for (const edit of [{ password: 'password of the intruder' }, { password: 'password of the intruder', email: newEmail() }]) {
    const mia = await member(service)
    const { services, hashing, continueHashing } = withSlowHashing(service)
    const intruder = await services.authentication.byToken(mia.token)
    const changed = services.users.edit(actorOf(intruder), mia.id, edit)
    const refused = assert.rejects(changed, { name: 'Refusal', code: 'token_invalid' })
    await hashing
    const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
    assert.equal((await service.app.inject(resetPassword({ code, new_password: 'password of the owner' }))).statusCode, 200)
    continueHashing()
    await refused
    assert.equal((await service.app.inject(login({ email: mia.email, password: 'password of the owner' }))).statusCode, 200)
  }
})

/** Services that wait with hashing until the test continues it. */
function withSlowHashing({ db, config, clock }: TestApp) {
  const [started, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const slow: Passwords = {
    ...passwords,
    async hash(password, signal) {
      started.resolve()
      await allowed.promise
      return passwords.hash(password, signal)
    },
  }
  const services = createServices(config, { db, secrets: () => secretsOf(config), now: clock.now, passwords: slow })
  return { services, hashing: started.promise, continueHashing: allowed.resolve }
}

nodeTest('two processes on one PostgreSQL: exactly one of 20 parallel registrations, verifications and resets succeeds', async (t) => {
  const { urls, db, services } = await twoProcesses(t)
  async function send(index: number, request: { url?: unknown; method?: string; payload?: unknown; query?: unknown }): Promise<number> {
    const { url, method, payload, query } = request
    // On a busy machine, some of them wait too long for their password hash.
    return eventually(`${url} is not answered with 503`, async () => {
      const response = await fetch(`${urls[index % 2]}${url}?${new URLSearchParams(query as Record<string, string>)}`, {
        method: method ?? 'GET',
        headers: payload === undefined ? {} : { 'content-type': 'application/json' },
        body: (payload as string | undefined) ?? null,
      })
      await response.arrayBuffer()
      return response.status === 503 ? undefined : response.status
    })
  }
  const many = (request: object) => Promise.all(Array.from({ length: 20 }, (_, index) => send(index, request)))

  const email = newEmail()
  assert.deepEqual(tally(await many(register({ email }))), { 201: 1, 400: 19 })
  const user = await findUserByEmail(db, email)
  assert.ok(user)
  assert.deepEqual(tally(await many(verify(services.tokens.forMail('verify', user.id, user.emailVersion)))), { 200: 1, 401: 19 })
  assert.deepEqual(tally(await many(resetPassword({ code: services.tokens.forMail('reset', user.id, user.resetVersion) }))), {
    200: 1,
    401: 19,
  })
  assert.equal((await findUserById(db, user.id))?.resetVersion, user.resetVersion + 1)
  assert.equal(await send(0, login({ email, password: PASSWORD })), 400)
})

async function twoProcesses(t: TestContext) {
  const target = await freshDatabase(t, 'postgres')
  if (target.kind !== 'postgres') throw new Error('unreachable')
  const processes = await Promise.all([startProcess(t, { DATABASE_URL: target.url }), startProcess(t, { DATABASE_URL: target.url })])
  const db = await openDatabase(target)
  t.after(() => db.close())
  const services = servicesOn(db)
  return { urls: processes.map(({ url }) => url), db, services }
}
