import assert from 'node:assert/strict'
import fc from 'fast-check'
import { decodeProtectedHeader } from 'jose'
import { anyText } from '../../../support/any-text.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { stall } from '../../../support/load/stalled-request.ts'
import { issueToken, readKeySet, requestToken, verifyToken } from '../../../support/servers/offline-verifier.ts'

test('200: a session is exchanged for a token that an independent library verifies', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const response = await requestToken(service.app, boss)
  const { token, ...rest } = response.json()
  assert.deepEqual([response.statusCode, rest], [200, { token_type: 'Bearer', expires_in: 300 }])
  const { payload, protectedHeader } = await verifyToken(service, await readKeySet(service.app), token)
  const [{ kid } = {}] = (await readKeySet(service.app)).keys
  assert.deepEqual(protectedHeader, { alg: 'ES256', typ: 'at+jwt', kid })
  const iat = Math.floor(service.clock.now() / 1000)
  const { jti, ...claims } = payload
  assert.match(String(jti), /^[0-9a-f-]{36}$/)
  assert.deepEqual(claims, {
    iss: service.config.baseUrl,
    sub: String(boss.id),
    aud: 'reports',
    iat,
    exp: iat + 300,
    email: boss.email,
    role: 'admin',
    method: 'session',
  })
})

test('200: the token of an API key carries its scopes, as far as they are scope-tokens', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const holder = await keyHolder(service, mia, { scopes: ['reports:read', 'two words', 'größe'], access: 'identify' })
  const token = await issueToken(service.app, holder, { audience: 'größe 🗝', lifetime_seconds: 900 })
  const { payload } = await verifyToken(service, await readKeySet(service.app), token, 'größe 🗝')
  const { sub, method, role, scope, iat = 0, exp = 0 } = payload
  const expected = { sub: String(mia.id), method: 'api_key', role: 'user', scope: 'reports:read', lifetime: 900 }
  assert.deepEqual({ sub, method, role, scope, lifetime: exp - iat }, expected)
  await assert.rejects(verifyToken(service, await readKeySet(service.app), token, 'reports'), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' })
})

test('200, 401: a token never outlives the key or the session behind it', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  service.clock.advance({ ms: 1000 - (service.clock.now() % 1000) })
  const holder = await keyHolder(service, mia, { expiresAt: service.clock.now() + 90_500 })
  const expiresIn = async (caller: typeof mia) => (await requestToken(service.app, caller)).json().expires_in
  assert.equal(await expiresIn(holder), 90)
  service.clock.advance({ seconds: 89 })
  assert.equal(await expiresIn(holder), 1)
  service.clock.advance({ seconds: 1 })
  refused(await requestToken(service.app, holder), 401, 'API key has expired')

  // A session lasts 30 days, however new its access token is.
  const ada = await member(service)
  service.clock.advance({ days: 30, seconds: -120 })
  const refreshed = (await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: ada.refresh } })).json()
  const late = { ...ada, headers: { authorization: `Bearer ${refreshed.token}` } }
  const { payload } = await verifyToken(service, await readKeySet(service.app), await issueToken(service.app, late))
  const left = Number(payload.exp) - Math.floor(service.clock.now() / 1000)
  assert.ok(left === 120 || left === 119, `${left} seconds`)
  service.clock.advance({ seconds: 120 })
  refused(await requestToken(service.app, late), 401, 'That token is Invalid')
})

test('200, 401: a token of a former secret never outlives its overlap, and neither does what is said about the secret', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  service.clock.advance({ ms: 1000 - (service.clock.now() % 1000) })
  const start = service.clock.now()
  const rotate = (keyId: string, overlap: number) => service.services.apiKeys.rotate(OPERATOR, mia.id, keyId, overlap)
  const ends = async (holder: typeof mia & { key: string }) => {
    const { expires_in: left } = (await requestToken(service.app, holder, { lifetime_seconds: 900 })).json()
    const checked = (await service.app.inject({ url: '/auth/check', headers: holder.headers })).json()
    const payload = { token: holder.key }
    const asked = (await service.app.inject({ method: 'POST', url: '/auth/introspect', headers: mia.headers, payload })).json()
    return { left, checked: checked.expires_at, asked: asked.exp }
  }
  const endsAt = (seconds: number) => ({
    left: seconds,
    checked: new Date(start + seconds * 1000).toISOString(),
    asked: start / 1000 + seconds,
  })

  const holder = await keyHolder(service, mia)
  const { secret } = await rotate(holder.keyId, 100)
  assert.deepEqual(await ends(holder), endsAt(100))
  const current = { ...holder, key: secret, headers: { 'x-api-key': secret } }
  assert.deepEqual(await ends(current), { left: 900, checked: null, asked: undefined })

  const ending = await keyHolder(service, mia, { expiresAt: start + 50_000 })
  await rotate(ending.keyId, 100)
  assert.deepEqual(await ends(ending), endsAt(50), 'the key ends before the overlap')
  const lasting = await keyHolder(service, mia, { expiresAt: start + 800_000 })
  await rotate(lasting.keyId, 100)
  assert.deepEqual(await ends(lasting), endsAt(100), 'the overlap ends before the key')

  service.clock.advance({ seconds: 99 })
  assert.equal((await requestToken(service.app, holder)).json().expires_in, 1)
  service.clock.advance({ seconds: 1 })
  refused(await requestToken(service.app, holder), 401, 'Invalid API key')
})

test('200: a token does not outlive an expiry or an overlap that was set while its request was on the way', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  service.clock.advance({ ms: 1000 - (service.clock.now() % 1000) })
  const { apiKeys } = service.services
  for (const change of [
    (keyId: string) => apiKeys.edit(OPERATOR, mia.id, keyId, { expiresAt: service.clock.now() + 60_000 }),
    (keyId: string) => apiKeys.rotate(OPERATOR, mia.id, keyId, 60),
  ]) {
    const { headers, keyId } = await keyHolder(service, mia)
    const request = stall(service.app, { method: 'POST', url: '/auth/token', headers, payload: { audience: 'reports' } })
    await request.accepted
    await change(keyId)
    const response = await request.finish()
    assert.deepEqual([response.statusCode, response.json().expires_in], [200, 60])
  }
})

test('200: introspection does not know the token, and no route of the service accepts it', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const token = await issueToken(service.app, boss)
  const headers = { authorization: `Bearer ${token}` }
  for (const url of ['/auth/check', '/users/me', '/users/', '/users/me/sessions'])
    refused(await service.app.inject({ url, headers }), 401, 'That token is Invalid')
  refused(await requestToken(service.app, { headers }), 401, 'That token is Invalid')
  const asked = await service.app.inject({ method: 'POST', url: '/auth/introspect', headers: boss.headers, payload: { token } })
  assert.deepEqual([asked.statusCode, asked.json()], [200, { active: false }])
})

test('200: the key set is public, may be cached, and contains public parts only', async (t) => {
  const service = await startApp(t)
  const empty = await service.app.inject('/.well-known/jwks.json')
  assert.deepEqual([empty.json(), empty.headers['cache-control']], [{ keys: [] }, 'no-store'])
  const token = await issueToken(service.app, await member(service))
  for (const url of ['/.well-known/jwks.json', '/api/v1/.well-known/jwks.json']) {
    const response = await service.app.inject(url)
    assert.deepEqual([response.statusCode, response.headers['cache-control']], [200, 'public, max-age=300'])
    assert.match(String(response.headers['content-type']), /^application\/json/)
    const [key, ...others] = response.json().keys
    assert.deepEqual([Object.keys(key).sort(), others], [['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'], []])
    assert.deepEqual([key.kty, key.crv, key.alg, key.use, key.kid], ['EC', 'P-256', 'ES256', 'sig', decodeProtectedHeader(token).kid])
  }
  assert.equal((await service.app.inject({ method: 'HEAD', url: '/.well-known/jwks.json' })).statusCode, 200)
})

test('422: an audience or a lifetime out of bounds', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  for (const [audience, type] of [
    ['', 'string_too_short'],
    ['x'.repeat(201), 'string_too_long'],
    [7, 'string_type'],
    [null, 'string_type'],
    [['reports'], 'string_type'],
    ['a\nb', 'value_error'],
    ['\ud800', 'value_error'],
  ] as const)
    invalid(await requestToken(service.app, mia, { audience }), { loc: ['body', 'audience'], type })
  for (const [lifetime, type] of [
    [59, 'greater_than_equal'],
    [901, 'less_than_equal'],
    [-1, 'greater_than_equal'],
    [1e300, 'less_than_equal'],
    [60.5, 'int_type'],
    ['300', 'int_type'],
    [null, 'int_type'],
    [[300], 'int_type'],
  ] as const)
    invalid(await requestToken(service.app, mia, { lifetime_seconds: lifetime }), { loc: ['body', 'lifetime_seconds'], type })
  for (const lifetime of [60, 900]) assert.equal((await requestToken(service.app, mia, { lifetime_seconds: lifetime })).statusCode, 200)
  assert.equal((await requestToken(service.app, mia, { audience: '🗝'.repeat(200) })).statusCode, 200)
})

test('any audience and lifetime get a token that verifies for that audience alone, or 422', async (t) => {
  const service = await startApp(t)
  const holder = await keyHolder(service, await member(service))
  const audience = fc.oneof(anyText({ maxLength: 210 }), fc.anything())
  const lifetime = fc.oneof(fc.integer({ min: 50, max: 910 }), fc.double(), fc.anything())
  await fc.assert(
    fc.asyncProperty(audience, lifetime, async (aud, seconds) => {
      const payload = JSON.stringify({ audience: aud, lifetime_seconds: seconds }, (_, value) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      const headers = { ...holder.headers, 'content-type': 'application/json' }
      const response = await service.app.inject({ method: 'POST', url: '/auth/token', headers, payload })
      if (response.statusCode === 422) return
      assert.equal(response.statusCode, 200, response.body)
      const { token, expires_in: expiresIn } = response.json()
      assert.ok(expiresIn >= 60 && expiresIn <= 900)
      await verifyToken(service, await readKeySet(service.app), token, String(JSON.parse(payload).audience))
      await assert.rejects(verifyToken(service, await readKeySet(service.app), token, 'another audience'))
    }),
    { numRuns: t.database === 'postgres' ? 50 : 200 },
  )
})
