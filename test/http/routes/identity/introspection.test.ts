import assert from 'node:assert/strict'
import fc from 'fast-check'
import { statement } from '../../../../src/storage/database.ts'
import { anyText } from '../../../support/any-text.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { addPasskey } from '../../../support/app/second-factor.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { forge, payloadOf } from '../../../support/http/forged-tokens.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { logout, postForm } from '../../../support/http/requests.ts'

const INACTIVE = { active: false }

function introspect({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, token: string, fields: object = {}) {
  return app.inject({ method: 'POST', url: '/auth/introspect', headers, payload: { token, ...fields } })
}

async function answer(service: TestApp, asker: Pick<Actor, 'headers'>, token: string): Promise<unknown> {
  const response = await introspect(service, asker, token)
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

test('200: an access token, asked about in JSON or as a form, with any kind of credential', async (t) => {
  const service = await startApp(t)
  const [mia, boss] = [await member(service), await admin(service)]
  const { sid, iat, exp } = payloadOf(boss.token)
  const expected = {
    active: true,
    sub: String(boss.id),
    username: boss.email,
    token_type: 'access_token',
    role: 'admin',
    second_factor: false,
    iat,
    exp,
    jti: sid,
  }
  assert.deepEqual(await answer(service, mia, boss.token), expected)
  assert.deepEqual(await answer(service, await keyHolder(service, mia, { access: 'identify' }), boss.token), expected)
  const form = postForm('/auth/introspect', { token: boss.token, token_type_hint: 'access_token' })
  const response = await service.app.inject({ ...form, headers: { ...form.headers, ...mia.headers } })
  assert.deepEqual([response.statusCode, response.json()], [200, expected])
})

test('200: an API key, with and without an expiry; only scope-tokens are in `scope`', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const expiresAt = Math.ceil(service.clock.now() / 1000) * 1000 + 60_000
  const plain = await keyHolder(service, mia)
  const limited = await keyHolder(service, mia, { scopes: ['a:b', 'c d', 'e"', 'f'], expiresAt })
  const expected = { active: true, sub: String(mia.id), username: mia.email, token_type: 'api_key', role: 'user', second_factor: null }
  assert.deepEqual(await answer(service, mia, plain.key), { ...expected, scope: '', jti: plain.keyId })
  const exp = expiresAt / 1000
  assert.deepEqual(await answer(service, mia, limited.key), { ...expected, scope: 'a:b f', exp, jti: limited.keyId })
})

test('200: whatever is not a usable access token or key is inactive, and nothing else is said about it', async (t) => {
  const service = await startApp(t)
  const [asker, mia] = [await admin(service), await member(service)]
  const unverified = await member(service, { verified: false })
  const { tokens } = service.services
  const payload = payloadOf(mia.token)
  for (const token of [
    mia.refresh,
    unverified.token,
    tokens.forMail('verify', mia.id, mia.emailVersion),
    tokens.forMail('reset', mia.id, mia.resetVersion),
    tokens.forSession('access', mia.id, 'another-session'),
    tokens.forSession('access', asker.id, String(payload['sid'])),
    forge({ payload, secret: 'another secret of thirty-two chars' }),
    `${mia.token} `,
    `Bearer ${mia.token}`,
    `lk_${'A'.repeat(49)}`,
    '',
    'x'.repeat(60_000),
  ])
    assert.deepEqual(await answer(service, asker, token), INACTIVE, token.slice(0, 80))
})

test('200: every revocation applies to the next introspection', async (t) => {
  const service = await startApp(t)
  const asker = await admin(service)
  const mia = await member(service)
  const { apiKeys, userAdministration } = service.services
  const disabled = await keyHolder(service, mia)
  const deleted = await keyHolder(service, mia)
  const expiring = await keyHolder(service, mia, { expiresAt: service.clock.now() + 1000 })
  const isActive = async (token: string) => ((await answer(service, asker, token)) as { active: boolean }).active
  for (const { key } of [disabled, deleted, expiring]) assert.equal(await isActive(key), true)
  await apiKeys.edit(OPERATOR, mia.id, disabled.keyId, { isActive: false })
  await apiKeys.remove(OPERATOR, mia.id, deleted.keyId)
  service.clock.advance({ seconds: 1 })
  for (const { key } of [disabled, deleted, expiring]) assert.deepEqual(await answer(service, asker, key), INACTIVE)
  await service.app.inject(logout(mia.headers))
  assert.deepEqual(await answer(service, asker, mia.token), INACTIVE)
  const ada = await member(service)
  const ofAda = await keyHolder(service, ada)
  assert.deepEqual([await isActive(ada.token), await isActive(ofAda.key)], [true, true])
  await userAdministration.ban(OPERATOR, ada.id)
  assert.deepEqual([await isActive(ada.token), await isActive(ofAda.key)], [false, false])
  const key = await keyHolder(service, asker)
  service.clock.advance({ hours: 3 })
  assert.deepEqual(await answer(service, key, asker.token), INACTIVE, 'an expired token')
})

test('200: with a rule about second factors, a credential is active exactly if /auth/check accepts it', async (t) => {
  for (const rule of ['optional', 'admins', 'everybody']) {
    const service = await startApp(t, { env: { SECOND_FACTOR: rule } })
    const [asker, bare, mia] = [await admin(service), await admin(service), await member(service)]
    const keys = await Promise.all([asker, bare, mia].map((owner) => keyHolder(service, owner)))
    await addPasskey(service, asker)
    const sessions = [asker, bare, mia].map(({ headers, token }) => ({ headers, text: token }))
    let refusals = 0
    for (const { headers, text } of [...sessions, ...keys.map(({ headers, key }) => ({ headers, text: key }))]) {
      const check = await service.app.inject({ url: '/auth/check', headers })
      const found = (await answer(service, asker, text)) as Record<string, unknown>
      const expected = check.statusCode === 200 ? [true, check.json().second_factor] : [false, undefined]
      assert.deepEqual([found['active'], found['second_factor']], expected, `${rule}: ${check.body}`)
      if (check.statusCode === 200) continue
      refusals++
      assert.deepEqual([check.json().detail, found], ['Second factor required', INACTIVE])
    }
    assert.equal(refusals, rule === 'everybody' ? 4 : 0)
  }
})

const LAST_USED = statement<{ last_used_at: number | null }>('select last_used_at from api_keys where id = $1')
const LAST_SEEN = statement<{ last_seen_at: number | null }>('select last_seen_at from sessions where id = $1')

test('200: a question is not a use of the credential, and counts no failure', async (t) => {
  const service = await startApp(t, { env: { METRICS_ENABLED: 'true' } })
  const [asker, mia] = [await admin(service), await member(service)]
  const { keyId, key } = await keyHolder(service, mia)
  const metrics = async () => {
    const { body } = await service.app.inject('/metrics')
    return body.split('\n').filter((line) => /^latchkey_(?:auth|api_key|login)/.test(line))
  }
  const before = await metrics()
  for (const token of [key, mia.token, 'garbage', `lk_${'A'.repeat(49)}`]) await introspect(service, asker, token)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await service.sessionUse.flush()
  assert.equal((await service.db.first(LAST_USED, keyId))?.last_used_at, null)
  assert.equal((await service.db.first(LAST_SEEN, String(payloadOf(mia.token)['sid'])))?.last_seen_at, null)
  assert.deepEqual(await metrics(), before)
})

test('401, 403, 413, 422: a question that is not well formed, or not permitted', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  refused(await introspect(service, { headers: {} }, mia.token), 401, 'Not authenticated. Use either JWT token or API key.')
  refused(await introspect(service, await keyHolder(service, mia, { access: 'read' }), mia.token), 403, 'Not enough permissions')
  refused(await introspect(service, mia, 'x'.repeat(65_536)), 413, 'Request body is too large')
  const send = (payload: string, type: string) =>
    service.app.inject({ method: 'POST', url: '/auth/introspect', headers: { ...mia.headers, 'content-type': type }, payload })
  const form = 'application/x-www-form-urlencoded'
  invalid(await send('{}', 'application/json'), { loc: ['body', 'token'], type: 'missing' })
  invalid(await send('{"token":7}', 'application/json'), { loc: ['body', 'token'], type: 'string_type' })
  invalid(await send('{"token":null}', 'application/json'), { loc: ['body', 'token'], type: 'string_type' })
  invalid(await send('[]', 'application/json'), { loc: ['body'], type: 'model_attributes_type' })
  invalid(await send('token', 'text/plain'), { loc: ['body'], type: 'model_attributes_type' })
  invalid(await send('', form), { loc: ['body'], type: 'missing' })
  invalid(await send('hint=a', form), { loc: ['body', 'token'], type: 'missing' })
  invalid(await send('token=a&token=b', form), { loc: ['body', 'token'], type: 'value_error' })
  invalid(await send('token=%FF', form), { loc: ['body'], type: 'value_error' })
  for (const hint of [7, null, ['api_key'], 'unknown'])
    assert.equal((await introspect(service, mia, 'a', { token_type_hint: hint })).statusCode, 200)
})

test('any text gets 200 and inactive, or 422', async (t) => {
  const service = await startApp(t)
  const { headers, token } = await member(service)
  const { key } = await keyHolder(service, await member(service))
  const pieces = fc.constantFrom(...token.split('.'), key, key.slice(0, 9), '.', '..', 'lk_', ' ', '\0', '🗝', '\ud800')
  const hostile = fc.oneof(
    fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join('')),
    anyText({ maxLength: 300 }),
  )
  await fc.assert(
    fc.asyncProperty(hostile, async (text) => {
      fc.pre(text !== key)
      const response = await introspect(service, { headers }, text)
      if (response.statusCode !== 422) assert.deepEqual([response.statusCode, response.json()], [200, INACTIVE])
    }),
    { numRuns: t.database === 'postgres' ? 60 : 300 },
  )
})
