import assert from 'node:assert/strict'
import { createHousekeeping } from '../../../../src/domain/operations/housekeeping.ts'
import { statement } from '../../../../src/storage/database.ts'
import { type Actor, admin, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { handedOff, issuedCode, WITH_PRODUCT } from '../../../support/app/hand-off.ts'
import { secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { type ContractContext, test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { signIn, submit } from '../../../support/http/pages.ts'

const ROWS = statement<{ id: string; is_used: boolean }>('select * from hand_offs')
const STRENGTHEN = statement("update sessions set second_factor = true, method = 'email' where user_id = $1")
const UNVERIFY = statement('update users set verified = false where id = $1')
const start = (t: ContractContext, env: Record<string, string> = {}) => startApp(t, { env: { ...WITH_PRODUCT, ...env } })

const exchange = ({ app }: Pick<TestApp, 'app'>, payload: object) => app.inject({ method: 'POST', url: '/login/exchange', payload })

const sessionsOf = async ({ services }: TestApp, { id }: Pick<Actor, 'id'>) =>
  (await services.sessions.list(id)).map((session) => session.id)

const me = ({ app }: Pick<TestApp, 'app'>, token: string) => app.inject({ url: '/users/me', headers: { authorization: `Bearer ${token}` } })

test('200: a code opens a session that knows what the session of the pages knows, and no more', async (t) => {
  const service = await start(t)
  const { app, clock } = service
  const mia = await member(service)
  const { code, verifier, cookie } = await handedOff(service, mia)
  clock.advance({ seconds: 30 })
  const response = await exchange(service, { code, code_verifier: verifier })
  assert.equal(response.statusCode, 200, response.body)
  const { token, refresh, ...others } = response.json()
  assert.deepEqual([typeof refresh, others], ['string', {}])
  const headers = { authorization: `Bearer ${token}` }
  const sessions = (await app.inject({ url: '/users/me/sessions', headers })).json()
  const { method, second_factor } = sessions.find(({ current }: { current: boolean }) => current)
  assert.deepEqual([method, second_factor], ['password', false])
  assert.equal((await app.inject({ method: 'POST', url: '/users/me/second-factor/totp', headers })).statusCode, 201)

  // Ten minutes after the password, not after the exchange.
  clock.advance({ minutes: 9, seconds: 31 })
  refused(await app.inject({ method: 'POST', url: '/users/me/second-factor/totp', headers }), 403, 'Confirm that it is you')
  assert.equal((await me(service, token)).statusCode, 200)
  // The two sessions are independent from here on.
  assert.equal((await app.inject(submit('/account/sign-out', {}, cookie))).statusCode, 303)
  assert.equal((await me(service, token)).statusCode, 200)
})

test('200: a session of the pages with a second factor opens one with a second factor', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const cookie = await signIn(service.app, mia)
  await service.db.run(STRENGTHEN, mia.id)
  const caller = await service.services.authentication.byPageToken(/latchkey=([^;]+)/.exec(cookie)?.[1] ?? '')
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
  const code = await service.services.handOffs.issue({ caller, origin: { via: 'http' } }, challenge)
  // The example of RFC 7636, appendix B.
  const response = await exchange(service, { code, code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' })
  assert.equal(response.statusCode, 200, response.body)
  const opened = (await service.services.sessions.list(mia.id)).filter(({ method }) => method === 'email')
  assert.deepEqual(
    opened.map(({ secondFactor }) => secondFactor),
    [true, true, true],
  )
})

test('401: a wrong verifier ends the code', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { code, verifier } = await handedOff(service, mia)
  const before = await sessionsOf(service, mia)
  for (const code_verifier of [`${verifier.slice(1)}x`, verifier])
    refused(await exchange(service, { code, code_verifier }), 401, 'Invalid code')
  assert.deepEqual(await sessionsOf(service, mia), before)
  assert.deepEqual(await service.db.all(ROWS), [])
})

test('401: a second use ends the session that the first one has opened, in another process and weeks later', async (t) => {
  const service = await start(t)
  const other = { app: await secondApp(t, service) }
  const mia = await member(service)
  for (const [later, code_verifier] of [
    [{ seconds: 0 }, undefined],
    [{ days: 20 }, 'not the verifier'],
  ] as const) {
    const { code, verifier } = await handedOff(service, mia)
    const first = await exchange(other, { code, code_verifier: verifier })
    assert.equal(first.statusCode, 200, first.body)
    const { token, refresh } = first.json()
    service.clock.advance(later)
    refused(await exchange(service, { code, code_verifier: code_verifier ?? verifier }), 401, 'Invalid code')
    refused(await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh } }), 401, 'That token is Invalid')
    if (later.seconds === 0) refused(await me(other, token), 401, 'That token is Invalid')
    const { kind, target } = (await storedEvents(service.db)).at(-1) ?? assert.fail('no event')
    assert.deepEqual([kind, target], ['session.revoked', mia.id])
  }
})

test('401: of fifty exchanges at once, in two processes, one opens a session, and the others end it', async (t) => {
  const service = await start(t)
  const other = { app: await secondApp(t, service) }
  const mia = await member(service)
  const { code, verifier } = await handedOff(service, mia)
  const before = await sessionsOf(service, mia)
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, n) => exchange(n % 2 === 0 ? service : other, { code, code_verifier: verifier })),
  )
  const statuses = responses.map(({ statusCode }) => statusCode).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 49 }, () => 401)])
  const opened = (await storedEvents(service.db)).filter(({ kind, target }) => kind === 'session.created' && target === mia.id)
  assert.equal(opened.length, 2, 'one of the pages, and one of the product')
  assert.deepEqual(await sessionsOf(service, mia), before)
  const { token } = responses.find(({ statusCode }) => statusCode === 200)?.json() ?? assert.fail('none')
  refused(await me(service, token), 401, 'That token is Invalid')
})

test('401: a code works for 60 seconds, and housekeeping removes what was not used', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  for (const [seconds, status] of [
    [59, 200],
    [60, 401],
  ] as const) {
    const { code, verifier } = await handedOff(service, mia)
    service.clock.advance({ seconds })
    assert.equal((await exchange(service, { code, code_verifier: verifier })).statusCode, status)
  }
  assert.equal((await service.db.all(ROWS)).length, 2)
  await createHousekeeping(service.db, service.clock.now, (error) => assert.fail(String(error))).run()
  assert.deepEqual(
    (await service.db.all(ROWS)).map(({ is_used }) => Boolean(is_used)),
    [true],
    'the one that was used is known while its session lasts',
  )
})

test('401: a ban, a new password, a reset, a deletion and the end of the page session refuse a code that was issued before', async (t) => {
  const service = await start(t)
  const { app, services, mailbox } = service
  const boss = await admin(service)
  const ends: Readonly<Record<string, (mia: Actor, cookie: string) => Promise<unknown>>> = {
    ban: ({ id }) => app.inject({ method: 'POST', url: `/users/${id}/ban`, headers: boss.headers }),
    'ban and its end': async ({ id }) => {
      await services.userAdministration.ban(OPERATOR, id)
      await services.sessions.revokeAll(OPERATOR, id)
      await services.userAdministration.unban(OPERATOR, id)
    },
    'new password': ({ password }, cookie) =>
      app.inject(
        submit(
          '/account/password',
          { current_password: password, new_password: 'a brand new password', confirm_password: 'a brand new password' },
          cookie,
        ),
      ),
    'password by an admin': ({ id }) => services.users.changePassword(OPERATOR, id, 'a brand new password'),
    reset: async ({ id, email }) => {
      await services.userAdministration.sendPasswordReset(OPERATOR, id)
      const payload = { code: await mailbox.codeFor(email), new_password: 'a brand new password' }
      assert.equal((await app.inject({ method: 'POST', url: '/reset-password/', payload })).statusCode, 200)
    },
    'reset of the second factor': ({ id }) => services.secondFactor.reset(OPERATOR, id),
    'sign-out': (_, cookie) => app.inject(submit('/account/sign-out', {}, cookie)),
    'all sessions': ({ id }) => services.sessions.revokeAll(OPERATOR, id),
    'not verified any more': ({ id }) => service.db.run(UNVERIFY, id),
    deletion: ({ id }) => services.userAdministration.remove(OPERATOR, id),
  }
  for (const [name, end] of Object.entries(ends))
    await t.test(name, async () => {
      const mia = await member(service)
      const { code, verifier, cookie } = await handedOff(service, mia)
      await end(mia, cookie)
      refused(await exchange(service, { code, code_verifier: verifier }), 401, 'Invalid code')
    })
})

test('200 or 401: an exchange and a ban at once never leave a session that works', async (t) => {
  const service = await start(t)
  const other = { app: await secondApp(t, service) }
  const boss = await admin(service)
  for (let n = 0; n < 10; n++) {
    const mia = await member(service)
    const { code, verifier } = await handedOff(service, mia)
    const [exchanged, banned] = await Promise.all([
      exchange(other, { code, code_verifier: verifier }),
      service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers }),
    ])
    assert.equal(banned.statusCode, 204)
    assert.ok([200, 401].includes(exchanged.statusCode), exchanged.body)
    if (exchanged.statusCode === 200) refused(await me(service, exchanged.json().token), 401, 'That token is Invalid')
  }
})

test('the database has no code: only hashes', async (t) => {
  const service = await start(t)
  const { code, code_verifier } = await issuedCode(service, await member(service))
  const stored = JSON.stringify(await service.db.all(ROWS))
  assert.ok(!stored.includes(code) && !stored.includes(code_verifier))
  assert.equal((await service.db.all(ROWS)).length, 1)
})

test('401, 422, 404: other codes, missing fields, and a service without account pages', async (t) => {
  const service = await start(t)
  refused(await exchange(service, { code: 'none', code_verifier: 'none' }), 401, 'Invalid code')
  assert.equal((await exchange(service, { code: 'none' })).statusCode, 422)
  assert.equal((await exchange(service, { code: 'x'.repeat(201), code_verifier: 'none' })).statusCode, 422)
  const without = await start(t, { ACCOUNT_PAGES_ENABLED: 'false' })
  refused(await exchange(without, { code: 'none', code_verifier: 'none' }), 404, 'Not Found')
})

test('429: wrong codes count for the limit of logins', async (t) => {
  const service = await start(t, { RATE_LIMITS: 'login:ip=3/h' })
  const attempt = () => exchange(service, { code: 'none', code_verifier: 'none' })
  for (let n = 0; n < 3; n++) assert.equal((await attempt()).statusCode, 401)
  refused(await attempt(), 429, 'Too many requests')
})
