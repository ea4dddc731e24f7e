import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import { secretsOf } from '../../src/process/secrets.ts'
import { createPasswords, type Passwords } from '../../src/security/password.ts'
import { codeAt } from '../../src/security/totp.ts'
import { createServices } from '../../src/services.ts'
import type { Database, Queries } from '../../src/storage/database.ts'
import { importUser } from '../support/app/accounts.ts'
import { member } from '../support/app/actors.ts'
import { addPasskey, turnOn } from '../support/app/second-factor.ts'
import { startApp, TEST_SECRET, type TestApp } from '../support/app/start-app.ts'
import { temporaryFolder, test } from '../support/databases/databases.ts'
import { ORIGIN } from '../support/http/origins.ts'
import { forgotPassword, login, newEmail, resendVerification } from '../support/http/requests.ts'
import { type Comparison, comparePairs, inWords } from '../support/load/statistics.ts'
import { ask, registration } from '../support/load/traffic.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { IS_LONG } from '../support/processes/scale.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { serve } from '../support/servers/listen.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

// A hash of cost 10 that no password of these tests has.
const BCRYPT_10 = '$2b$10$abcdefghijklmnopqrstuuW2Jv0hVbV6ZQmZ0S1r7q9w9s1o8x6yC'

/** Starts the services on a database that records each statement, with passwords that record each hash. */
function overheard({ db, config, clock }: TestApp) {
  const heard: string[] = []
  function noted<Arguments extends unknown[], Result>(word: (...given: Arguments) => string, work: (...given: Arguments) => Result) {
    return (...given: Arguments): Result => {
      heard.push(word(...given))
      return work(...given)
    }
  }
  const listen = <Part extends Queries>(part: Part): Part => ({
    ...part,
    first: noted(({ sql }) => sql, part.first),
    all: noted(({ sql }) => sql, part.all),
    run: noted(({ sql }) => sql, part.run),
  })
  const listening: Database = { ...listen(db), transaction: (work) => db.transaction((tx) => work(listen(tx))) }
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const listeningPasswords: Passwords = {
    ...passwords,
    hash: noted((_password, _signal) => 'hash', passwords.hash),
    matches: noted((_password, _passwordHash, _signal) => 'compare', passwords.matches),
  }
  const parts = { db: listening, secrets: () => secretsOf(config), now: clock.now, passwords: listeningPasswords }
  return { heard, services: createServices(config, parts) }
}

test('a login and a password reset execute the same statements and hashes with and without an account, and with and without a second factor', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const { heard, services } = overheard(testApp)
  const work = async (email: string) => {
    heard.length = 0
    await services.login.api.byPassword(ORIGIN, email, 'a wrong password').catch(() => undefined)
    await services.passwordReset.request(ORIGIN, email)
    await services.registration.resendVerification(ORIGIN, email)
    return [...heard]
  }
  const [known, unknown] = [await work(mia.email), await work(newEmail())]
  assert.deepEqual(known, unknown)
  await turnOn(testApp, mia)
  await addPasskey(testApp, mia)
  assert.deepEqual(await work(mia.email), unknown, 'with a second factor')
  assert.equal(known.filter((step) => step === 'compare').length, 1)
  t.diagnostic(`${known.length} steps for either: ${known.length - 1} statements and 1 hash`)
})

test('status, headers and statements of limited requests are the same with and without an account', async (t) => {
  const testApp = await startApp(t, { env: { RATE_LIMITS: 'standard' } })
  const requests = [
    (email: string) => login({ email, password: 'a wrong password' }),
    forgotPassword,
    (email: string) => resendVerification(email),
  ]
  for (const request of requests) {
    const answers = async (email: string) => {
      const seen: object[] = []
      for (let count = 0; count < 12; count++) {
        const { statusCode, headers, body } = await testApp.app.inject(request(email))
        const { date: _, 'x-request-id': _id, ...comparable } = headers
        seen.push({ statusCode, comparable, body })
      }
      return seen
    }
    const [known, unknown] = [await answers((await member(testApp)).email), await answers(newEmail())]
    assert.deepEqual(known, unknown)
    assert.ok(known.some((answer) => 'statusCode' in answer && answer.statusCode === 429))
  }
  const { heard, services } = overheard(testApp)
  const count = async (email: string) => {
    heard.length = 0
    for (let round = 0; round < 12; round++) await services.limiter.countAccount('login:account', email, '192.0.2.1').catch(() => undefined)
    return [...heard]
  }
  assert.deepEqual(await count((await member(testApp)).email), await count(newEmail()))
})

test('with accounts of another system, a login executes the same statements and hashes for native, imported and unknown addresses', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await importUser(testApp.db, { email: 'ada@example.com', password_hash: BCRYPT_10 })
  await importUser(testApp.db, { email: 'bob@example.com' })
  const { heard, services } = overheard(testApp)
  const work = async (email: string) => {
    heard.length = 0
    await services.login.api.byPassword(ORIGIN, email, 'a wrong password').catch(() => undefined)
    return [...heard]
  }
  const unknown = await work(newEmail())
  for (const email of [mia.email, 'ada@example.com', 'bob@example.com']) assert.deepEqual(await work(email), unknown)
})

type Leak = { readonly email: string; readonly ms: number }

/** A proxy that delays requests for one address, which the method has to detect. Without a leak it delays nothing. */
async function startLeaky(t: TestContext, port: number, leak: () => Leak | undefined): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { port: own } = await serve(t, (incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      const current = leak()
      const spentUntil = performance.now() + (current && body.includes(current.email) ? current.ms : 0)
      while (performance.now() < spentUntil);
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      request({ port, host: '127.0.0.1', method: 'POST', path: incoming.url, headers, agent }, (response) => {
        outgoing.writeHead(response.statusCode ?? 500)
        response.pipe(outgoing)
      }).end(body)
    })
  })
  t.after(() => agent.destroy())
  return own
}

async function measure(
  url: string,
  path: string,
  known: string,
  body: (email: string) => object,
  pairs: number,
  // The same address for all pairs, like the known one: repeated requests are merged with the waiting mail, with or without an account, and
  // both have to reach their limits together.
  unknown: string,
): Promise<Comparison> {
  const differences: number[] = []
  for (let pair = 0; pair < pairs; pair++) {
    const isKnownFirst = Math.random() < 0.5
    const [one, other] = [isKnownFirst ? known : unknown, isKnownFirst ? unknown : known]
    const first = await ask(url, 'POST', path, body(one))
    const second = await ask(url, 'POST', path, body(other))
    // A connection that is closed at that moment gives no measurement.
    if (first.status === 0 || second.status === 0) continue
    assert.equal(first.status, second.status)
    assert.deepEqual([first.body, first.retryAfter === null], [second.body, second.retryAfter === null])
    differences.push((first.tookMs - second.tookMs) * (isKnownFirst ? 1 : -1))
  }
  return comparePairs(differences)
}

const QUESTIONS = [
  // A skipped hash saves more than ten milliseconds; the method must detect a fraction of that.
  { name: 'login', path: '/login/', leakMs: 2, pairs: 800, body: (email: string) => ({ email, password: 'a wrong password' }) },
  // About the time to look up an account and sign a token.
  { name: 'forgot password', path: '/forgot-password/', leakMs: 0.3, pairs: 4000, body: (email: string) => ({ email }) },
  // With limits, each login counts for its network and its account before the password is compared.
  {
    name: 'a login with limits',
    path: '/login/',
    leakMs: 2,
    pairs: 800,
    body: (email: string) => ({ email, password: 'a wrong password' }),
    limits: 'login:ip=100000/s,login:account=100000/s',
  },
  // After ten guesses every further one is refused: by the database once a second, otherwise from memory.
  {
    name: 'a login beyond its limit',
    path: '/login/',
    leakMs: 0.3,
    pairs: 4000,
    body: (email: string) => ({ email, password: 'a wrong password' }),
    limits: 'login:account=10/h',
  },
  // Whether there is a second factor is for those who have the password.
  {
    name: 'a login of an account with a second factor',
    path: '/login/',
    leakMs: 2,
    pairs: 800,
    body: (email: string) => ({ email, password: 'a wrong password' }),
    hasFactor: true,
  },
]

/** Creates an admin with codes from an app. Returns the address. */
async function enrolAdmin(url: string): Promise<string> {
  const { body } = await ask(url, 'POST', '/login/', { email: ADMIN.ADMIN_EMAIL, password: ADMIN.ADMIN_PASSWORD })
  const headers = { authorization: `Bearer ${(body as { token: string }).token}` }
  const path = '/users/me/second-factor/totp'
  const { secret } = (await ask(url, 'POST', path, undefined, headers)).body as { secret: string }
  const confirmed = await ask(url, 'POST', `${path}/confirm`, { code: codeAt(secret, Math.floor(Date.now() / 30_000)) }, headers)
  assert.equal(confirmed.status, 200, JSON.stringify(confirmed.body))
  return ADMIN.ADMIN_EMAIL
}

const ADMIN = { ADMIN_EMAIL: 'admin@example.com', ADMIN_PASSWORD: 'a password for the admin' }

for (const { name, path, leakMs, pairs, body, limits = 'off', hasFactor = false } of QUESTIONS) {
  nodeTest(`the time of ${name} does not tell whether there is an account, measured by a method that finds ${leakMs} ms`, async (t) => {
    if (!IS_LONG) return t.skip('NOT RUN: only in the long form (SLOW=long)')
    const peer = await startSmtpPeer(t)
    const service = await startProcess(t, { SMTP_URL: peer.url, LOG_LEVEL: 'silent', RATE_LIMITS: limits, ...(hasFactor && ADMIN) })
    const plain = newEmail()
    await ask(service.url, 'POST', '/register/', registration(plain))
    const known = hasFactor ? await enrolAdmin(service.url) : plain
    const unknown = newEmail()
    let leak: Leak | undefined
    const port = await startLeaky(t, Number(new URL(service.url).port), () => leak)
    const url = `http://127.0.0.1:${port}`
    await measure(url, path, known, body, 50, unknown)
    const clean = await measure(url, path, known, body, pairs, unknown)
    leak = { email: known, ms: leakMs }
    const leaky = await measure(url, path, known, body, pairs, unknown)
    t.diagnostic(`${name}, known minus unknown: ${inWords(clean)}`)
    t.diagnostic(`the same with ${leakMs} ms more for the known address: ${inWords(leaky)}`)
    assert.ok(leaky.lowMs > 0, 'the method detects the leak')
    assert.ok(Math.abs(clean.medianMs) < leakMs / 2, 'without the leak there is no difference of that size')
  })
}

/** Imports accounts with three kinds of foreign hashes into the database of the service, which runs meanwhile. */
async function importMixed(t: TestContext, folder: string): Promise<void> {
  const users = [
    { email: 'bcrypt@example.com', verified: true, password_hash: BCRYPT_10 },
    { email: 'cheap-bcrypt@example.com', verified: true, password_hash: BCRYPT_10.replace('$10$', '$05$') },
    { email: 'pbkdf2@example.com', verified: true, password_hash: `$pbkdf2-sha256$29000$c2FsdHNhbHRzYWx0$${'a'.repeat(43)}` },
    { email: 'none@example.com', verified: true },
  ]
  const file = join(folder, 'users.jsonl')
  writeFileSync(file, users.map((user) => `${JSON.stringify(user)}\n`).join(''))
  const args = ['user', 'import', file, '--from', 'latchkey']
  const { code, stderr } = await runNode(t, LATCHKEY, args, { cwd: folder, env: { SECRET_KEY: TEST_SECRET } })
  assert.deepEqual([code, stderr], [0, ''])
}

const MIXED_LEAK_MS = 5

nodeTest(`the time of a login does not tell imported, native and unknown addresses apart, to ${MIXED_LEAK_MS} ms`, async (t) => {
  if (!IS_LONG) return t.skip('NOT RUN: only in the long form (SLOW=long)')
  const folder = temporaryFolder(t)
  const service = await startProcess(t, { LOG_LEVEL: 'silent' }, folder)
  const native = newEmail()
  await ask(service.url, 'POST', '/register/', registration(native))
  await importMixed(t, folder)
  const body = (email: string) => ({ email, password: 'a wrong password' })
  const unknown = 'nobody-here@example.com'
  for (const email of [native, 'bcrypt@example.com', 'cheap-bcrypt@example.com', 'pbkdf2@example.com', 'none@example.com']) {
    await measure(service.url, '/login/', email, body, 10, unknown)
    const compared = await measure(service.url, '/login/', email, body, 200, unknown)
    t.diagnostic(`${email}, known minus unknown: ${inWords(compared)}`)
    assert.ok(Math.abs(compared.medianMs) < MIXED_LEAK_MS)
  }
})
