import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { createPasswords, type Passwords } from '../../../src/security/password.ts'
import { type Actor, admin, member } from '../../support/app/actors.ts'
import { refused } from '../../support/app/assertions.ts'
import { eventually } from '../../support/app/eventually.ts'
import { addPasskey, askForPasskey, caller, firstStep, secondStep, turnOn } from '../../support/app/second-factor.ts'
import { secondApp, startApp, type TestApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'
import { login, resetPassword } from '../../support/http/requests.ts'

type Process = Pick<TestApp, 'app'>

/** Two processes on one database. A SQLite file belongs to one process. */
async function startTwo(t: ContractContext): Promise<{ service: TestApp; processes: readonly Process[] }> {
  const service = await startApp(t)
  return { service, processes: t.database === 'sqlite' ? [service] : [service, { app: await secondApp(t, service) }] }
}

/** Many requests at once, by turns to each process. */
function atOnce<Result>(processes: readonly Process[], count: number, request: (process: Process, n: number) => Promise<Result>) {
  return Promise.all(Array.from({ length: count }, (_, n) => request(processes[n % processes.length] ?? assert.fail(), n)))
}

function statuses(responses: readonly LightMyRequestResponse[]): Record<number, number> {
  const counted: Record<number, number> = {}
  for (const { statusCode } of responses) counted[statusCode] = (counted[statusCode] ?? 0) + 1
  return counted
}

/**
 * Sends a request again while it is answered with 503, as a busy machine may do, so that every request of a race gets its answer. One that
 * was answered with 503 may have been executed.
 */
function patiently(send: () => Promise<LightMyRequestResponse>, late = { count: 0 }): Promise<LightMyRequestResponse> {
  return eventually('a request is answered', async () => {
    const response = await send()
    if (response.statusCode !== 503) return response
    late.count++
    return undefined
  })
}

/** Sends many requests at once, and asserts that exactly one succeeds and that every other one is refused for what it contains. */
async function succeedsOnce(
  processes: readonly Process[],
  count: number,
  request: (process: Process, n: number) => Promise<LightMyRequestResponse>,
  refusedWith = 401,
): Promise<readonly LightMyRequestResponse[]> {
  const late = { count: 0 }
  const responses = await atOnce(processes, count, (process, n) => patiently(() => request(process, n), late))
  const { 200: successes = 0, ...others } = statuses(responses)
  const isLost = successes === 0 && late.count > 0
  assert.ok(successes === 1 || isLost, `${successes} successes`)
  assert.deepEqual(others, { [refusedWith]: count - successes })
  return responses
}

const sessionsOf = async (service: Process, user: Actor): Promise<number> =>
  (await caller(service, user)('GET', '/users/me/sessions')).json().length

test('200 once: fifty requests with one code of an app, or one recovery code, in two processes', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { code, recoveryCodes } = await turnOn(service, mia)
  // Each network of the owner has its own ten wrong codes, so that none of the fifty is refused by the limit.
  const networks = Array.from({ length: 5 }, (_, n) => `192.0.2.${n}`)
  for (const network of networks) await service.services.limiter.recognise(mia.email, network)
  let sessions = 1
  for (const given of [code, () => recoveryCodes[0] ?? '']) {
    const challenges = await atOnce([service], 50, (process) => firstStep(process, mia))
    const used = given()
    await succeedsOnce(processes, 50, (process, n) => secondStep(process, { challenge: challenges[n], code: used }, networks[n % 5]))
    assert.equal(await sessionsOf(service, mia), ++sessions)
    service.clock.advance({ minutes: 11 })
  }
})

test('200 once: one challenge with ten recovery codes at once uses up one of them', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { recoveryCodes } = await turnOn(service, mia)
  const challenge = await firstStep(service, mia)
  await succeedsOnce(processes, 10, (process, n) => secondStep(process, { challenge, code: recoveryCodes[n] }))
  const left = (await caller(service, mia)('GET', '/users/me/second-factor')).json()
  assert.deepEqual(left, { totp: true, passkeys: 0, recovery_codes: 9, required: false })
  assert.equal(await sessionsOf(service, mia), 2)
})

test('200 once: fifty requests with one answer of a passkey, alone and as a second step', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { authenticator } = await addPasskey(service, mia)
  const credential = authenticator.get(await askForPasskey(service))
  await succeedsOnce(processes, 50, ({ app }) => app.inject({ method: 'POST', url: '/login/passkey', payload: { credential } }))
  await turnOn(service, mia)
  const challenge = await firstStep(service, mia)
  const passkey = authenticator.get(await askForPasskey(service, { challenge }))
  await succeedsOnce(processes, 50, (process) => secondStep(process, { challenge, passkey }))
  assert.equal(await sessionsOf(service, mia), 3)
})

test('200 once: codes that are turned on by two requests at once, and the recovery codes of that one work', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { secret } = (await caller(service, mia)('POST', '/users/me/second-factor/totp')).json()
  const { codeAt } = await import('../../../src/security/totp.ts')
  const payload = { code: codeAt(secret, Math.floor(service.clock.now() / 30_000)) }
  const url = '/users/me/second-factor/totp/confirm'
  const responses = await succeedsOnce(processes, 2, (process) => caller(process, mia)('POST', url, payload), 400)
  const [code] = responses.find(({ statusCode }) => statusCode === 200)?.json().recovery_codes ?? []
  const challenge = await firstStep(service, mia)
  refused(await secondStep(service, { challenge, ...payload }), 401, 'Invalid code')
  assert.equal((await secondStep(service, { challenge, code })).statusCode, 200)
})

type Change = { readonly name: string; readonly endsSessions: boolean; make(service: TestApp, boss: Actor, mia: Actor): Promise<unknown> }

const CHANGES: readonly Change[] = [
  { name: 'a ban', endsSessions: true, make: (service, boss, { id }) => caller(service, boss)('POST', `/users/${id}/ban`) },
  { name: 'a deletion', endsSessions: true, make: (service, boss, { id }) => caller(service, boss)('DELETE', `/users/${id}`) },
  {
    name: 'a new password',
    endsSessions: true,
    make: (service, boss, { id }) => caller(service, boss)('POST', `/users/${id}/password`, { password: 'a new password' }),
  },
  {
    name: 'a reset',
    endsSessions: true,
    make: ({ app, services }, _boss, { id, resetVersion }) =>
      app.inject(resetPassword({ code: services.tokens.forMail('reset', id, resetVersion) })),
  },
  {
    name: 'a reset of the second factor',
    endsSessions: true,
    make: (service, boss, { id }) => caller(service, boss)('DELETE', `/users/${id}/second-factor`),
  },
  {
    name: 'a new address',
    endsSessions: false,
    make: (service, boss, { id }) => caller(service, boss)('PUT', `/users/${id}`, { email: `new-${id}@example.com` }),
  },
  {
    name: 'a removal',
    endsSessions: false,
    make: (service, _boss, mia) => caller(service, mia)('DELETE', '/users/me/second-factor/totp'),
  },
]

test('401: no change of the account at the same moment leaves a second step that comes after it, or a session of one before it', async (t) => {
  const { service, processes } = await startTwo(t)
  const boss = await admin(service)
  for (const { name, endsSessions, make } of CHANGES)
    await t.test(name, async () => {
      const mia = await member(service)
      const { recoveryCodes } = await turnOn(service, mia)
      const { authenticator } = await addPasskey(service, mia)
      const challenges = await atOnce([service], 4, (process) => firstStep(process, mia))
      const [, , forPasskey = ''] = challenges
      const passkey = authenticator.get(await askForPasskey(service, { challenge: forPasskey }))
      const [responses, changed] = await Promise.all([
        atOnce(processes, 3, (process, n) =>
          patiently(() => secondStep(process, { challenge: challenges[n], ...(n === 2 ? { passkey } : { code: recoveryCodes[n] }) })),
        ),
        make(service, boss, mia),
      ])
      assert.ok((changed as LightMyRequestResponse).statusCode < 300, (changed as LightMyRequestResponse).body)
      for (const response of responses) {
        assert.ok([200, 401].includes(response.statusCode), response.body)
        if (response.statusCode !== 200 || !endsSessions) continue
        const headers = { authorization: `Bearer ${response.json().token}` }
        refused(await service.app.inject({ url: '/users/me', headers }), 401, 'That token is Invalid')
      }
      refused(await secondStep(service, { challenge: challenges[3], code: recoveryCodes[3] }), 401, 'Invalid challenge')
    })
})

/** Passwords whose comparison lets a test act before the login continues. */
function pausedPasswords(): { passwords: Passwords; after: (work: () => Promise<unknown>) => void } {
  const real = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  let pending: (() => Promise<unknown>) | undefined
  const passwords: Passwords = {
    ...real,
    async matches(...given) {
      const isMatch = await real.matches(...given)
      const work = pending
      pending = undefined
      await work?.()
      return isMatch
    },
  }
  return {
    passwords,
    after(work) {
      pending = work
    },
  }
}

test('400: a login whose account gets a second factor before it ends opens no session', async (t) => {
  const { passwords, after } = pausedPasswords()
  const service = await startApp(t, { passwords })
  const mia = await member(service)
  after(() => turnOn(service, mia))
  refused(await service.app.inject(login(mia)), 400, 'Wrong email or password')
  assert.equal(await sessionsOf(service, mia), 1)
  assert.ok(await firstStep(service, mia))
})

test('400: the first step of an account that is deleted, banned or gets another password before it ends', async (t) => {
  const { passwords, after } = pausedPasswords()
  const service = await startApp(t, { passwords })
  const boss = await admin(service)
  for (const { name, make } of CHANGES.slice(0, 3)) {
    const mia = await member(service)
    await turnOn(service, mia)
    after(() => make(service, boss, mia))
    const response = await service.app.inject(login(mia))
    assert.deepEqual([response.statusCode, response.json()], [400, { detail: 'Wrong email or password' }], name)
  }
})

test('no deadlock: everything that changes the ways into one account, at once in two processes', async (t) => {
  const { service, processes } = await startTwo(t)
  const boss = await admin(service)
  const mia = await member(service)
  const { recoveryCodes } = await turnOn(service, mia)
  const { authenticator } = await addPasskey(service, mia)
  const challenges = await atOnce([service], 8, (process) => firstStep(process, mia))
  const work: ((process: Process, n: number) => Promise<LightMyRequestResponse>)[] = [
    (process, n) => secondStep(process, { challenge: challenges[n % 8], code: recoveryCodes[n % 10] }),
    (process) => caller(process, mia)('POST', '/users/me/confirm', { code: recoveryCodes[9] }),
    (process) => caller(process, mia)('POST', '/users/me/second-factor/recovery-codes'),
    async (process) => {
      const credential = authenticator.get(await askForPasskey(process))
      return process.app.inject({ method: 'POST', url: '/login/passkey', payload: { credential } })
    },
    (process) => caller(process, boss)('PUT', `/users/${mia.id}`, { first_name: 'Maria' }),
    () => service.app.inject(login(mia)),
    (process) => caller(process, mia)('DELETE', '/users/me/sessions'),
  ]
  const responses = await atOnce(processes, 28, (process, n) => (work[n % work.length] ?? assert.fail())(process, n))
  assert.deepEqual(
    responses.filter(({ statusCode }) => statusCode === 500).map(({ body }) => body),
    [],
  )
  assert.deepEqual(
    service.logged.filter((line) => line.includes('deadlock')),
    [],
  )
})
