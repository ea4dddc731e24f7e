import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { createPasswords, type Passwords } from '../../../src/security/password.ts'
import { type Actor, admin, member } from '../../support/app/actors.ts'
import { refused } from '../../support/app/assertions.ts'
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

/** One success; every other request is refused: by the code, by the limit of wrong codes, or because it took too long on a busy machine. */
function succeedsOnce(responses: readonly LightMyRequestResponse[], wrongStatus = 401): void {
  const { 200: successes, [wrongStatus]: wrong = 0, 429: limited = 0, 503: late = 0 } = statuses(responses)
  assert.equal(successes, 1, JSON.stringify(statuses(responses)))
  assert.equal(wrong + limited + late, responses.length - 1, JSON.stringify(statuses(responses)))
}

const sessionsOf = async (service: Process, user: Actor): Promise<number> =>
  (await caller(service, user)('GET', '/users/me/sessions')).json().length

test('200 once: fifty requests with one code of an app, or one recovery code, in two processes', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { code, recoveryCodes } = await turnOn(service, mia)
  let sessions = 1
  for (const given of [code(), recoveryCodes[0] ?? '']) {
    const challenges = await atOnce([service], 50, (process) => firstStep(process, mia))
    succeedsOnce(await atOnce(processes, 50, (process, n) => secondStep(process, { challenge: challenges[n], code: given })))
    assert.equal(await sessionsOf(service, mia), ++sessions)
    service.clock.advance({ minutes: 9 })
    await caller(service, mia)('POST', '/users/me/confirm', { password: mia.password })
  }
})

test('200 once: one challenge with ten recovery codes at once uses up one of them', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { recoveryCodes } = await turnOn(service, mia)
  const challenge = await firstStep(service, mia)
  succeedsOnce(await atOnce(processes, 10, (process, n) => secondStep(process, { challenge, code: recoveryCodes[n] })))
  const left = (await caller(service, mia)('GET', '/users/me/second-factor')).json()
  assert.deepEqual(left, { totp: true, passkeys: 0, recovery_codes: 9, required: false })
  assert.equal(await sessionsOf(service, mia), 2)
})

test('200 once: fifty requests with one answer of a passkey, alone and as a second step', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { authenticator } = await addPasskey(service, mia)
  const credential = authenticator.get(await askForPasskey(service))
  const alone = await atOnce(processes, 50, ({ app }) => app.inject({ method: 'POST', url: '/login/passkey', payload: { credential } }))
  succeedsOnce(alone)
  await turnOn(service, mia)
  const challenge = await firstStep(service, mia)
  const passkey = authenticator.get(await askForPasskey(service, { challenge }))
  succeedsOnce(await atOnce(processes, 50, (process) => secondStep(process, { challenge, passkey })))
  assert.equal(await sessionsOf(service, mia), 3)
})

test('200 once: codes that are turned on by two requests at once, and the recovery codes of that one work', async (t) => {
  const { service, processes } = await startTwo(t)
  const mia = await member(service)
  const { secret } = (await caller(service, mia)('POST', '/users/me/second-factor/totp')).json()
  const { codeAt } = await import('../../../src/security/totp.ts')
  const payload = { code: codeAt(secret, Math.floor(service.clock.now() / 30_000)) }
  const responses = await atOnce(processes, 2, (process) => caller(process, mia)('POST', '/users/me/second-factor/totp/confirm', payload))
  succeedsOnce(responses, 400)
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
          secondStep(process, { challenge: challenges[n], ...(n === 2 ? { passkey } : { code: recoveryCodes[n] }) }),
        ),
        make(service, boss, mia),
      ])
      assert.ok((changed as LightMyRequestResponse).statusCode < 300, (changed as LightMyRequestResponse).body)
      for (const response of responses) {
        assert.ok([200, 401, 503].includes(response.statusCode), response.body)
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
