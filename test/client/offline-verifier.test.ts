import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createOfflineVerifier, LatchkeyError, type OfflineIdentity, type Verifier } from '../../packages/client/src/index.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { watchedFetch } from '../support/client/watched-fetch.ts'
import { ORIGIN } from '../support/http/origins.ts'
import { freePort } from '../support/servers/free-port.ts'
import { serve } from '../support/servers/listen.ts'
import { issueToken } from '../support/servers/offline-verifier.ts'

type Requirement = Parameters<Verifier['verify']>[1]

function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** What the verifier says about a token: `ok`, or status and code. */
async function verdict(verifier: Verifier<OfflineIdentity>, token: string, requirement?: Requirement): Promise<string> {
  return verifier.verify(bearer(token), requirement).then(
    () => 'ok',
    (error: unknown) => {
      assert.ok(error instanceof LatchkeyError, String(error))
      return `${error.status} ${error.code}`
    },
  )
}

async function start(t: TestContext) {
  const service = await startListening(t)
  const mia = await member(service)
  const watched = watchedFetch()
  const verifier = createOfflineVerifier({ url: service.url, audience: 'reports', fetch: watched.fetch, now: service.clock.now })
  return { service, mia, watched, verifier }
}

test('a token says who is calling, and the keys are fetched once', async (t) => {
  const { service, mia, watched, verifier } = await start(t)
  const key = await keyHolder(service, mia, { scopes: ['notes:read', 'notes:write'] })
  const expiresAt = new Date((Math.floor(service.clock.now() / 1000) + 300) * 1000).toISOString()
  const person = { userId: mia.id, email: mia.email, role: 'user', expiresAt }
  const ofKey = bearer(await issueToken(service.app, key))
  assert.deepEqual(await verifier.verify(new Headers(ofKey)), { ...person, method: 'api_key', scopes: ['notes:read', 'notes:write'] })
  const ofSession = bearer(await issueToken(service.app, mia))
  assert.deepEqual(await verifier.verify(ofSession), { ...person, method: 'session', scopes: null })
  assert.deepEqual(watched.calls, ['GET /.well-known/jwks.json'])
})

test('401, 403: roles and scopes are required as the service requires them', async (t) => {
  const { service, mia, verifier } = await start(t)
  const ofKey = await issueToken(service.app, await keyHolder(service, mia, { scopes: ['notes:read'] }))
  const ofSession = await issueToken(service.app, mia)
  const ofAdmin = await issueToken(service.app, await admin(service))
  assert.equal(await verdict(verifier, ofKey, { scope: 'notes:read' }), 'ok')
  assert.equal(await verdict(verifier, ofKey, { scope: ['notes:read', 'notes:write'] }), '403 not_permitted')
  assert.equal(await verdict(verifier, ofKey, { scope: '' }), '503 unavailable')
  assert.equal(await verdict(verifier, ofSession, { scope: 'notes:write' }), 'ok')
  assert.equal(await verdict(verifier, ofSession, { role: 'admin' }), '403 not_permitted')
  assert.equal(await verdict(verifier, ofAdmin, { role: 'admin' }), 'ok')
  for (const headers of [{}, { authorization: 'Basic bWlh' }, { 'x-api-key': 'lk_key' }])
    await assert.rejects(verifier.verify(headers), { status: 401, code: 'not_authenticated' })
})

test('a ban is felt when the token expires, and not before', async (t) => {
  const { service, mia, verifier } = await start(t)
  const boss = await admin(service)
  const token = await issueToken(service.app, mia, { lifetime_seconds: 60 })
  await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  service.clock.advance({ seconds: 58 })
  assert.equal(await verdict(verifier, token), 'ok')
  service.clock.advance({ seconds: 2 })
  assert.equal(await verdict(verifier, token), '401 token_expired')
})

/** A key set that the test serves, so that it can sign what the service never signs. */
async function keySetServer(t: TestContext, keys: () => object[]) {
  let requests = 0
  const { url } = await serve(t, (_request, response) => {
    requests++
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: keys() }))
  })
  return { url, requests: () => requests }
}

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')

test('401: hostile tokens', async (t) => {
  const ours = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const theirs = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...ours.publicKey.export({ format: 'jwk' }), kid: 'ours', alg: 'ES256', use: 'sig' }
  const oneOfRsa = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' }
  const disguised = { ...oneOfRsa, kid: 'disguised', alg: 'ES256' }
  const forEncryption = { ...jwk, kid: 'encryption', use: 'enc' }
  const { url } = await keySetServer(t, () => [jwk, oneOfRsa, disguised, forEncryption])
  const now = Date.now()
  const seconds = Math.floor(now / 1000)
  const verifier = createOfflineVerifier({ url, audience: 'reports', now: () => now })

  const HEADER = { alg: 'ES256', typ: 'at+jwt', kid: 'ours' }
  const CLAIMS = {
    iss: url,
    sub: '7',
    aud: 'reports',
    iat: seconds,
    exp: seconds + 60,
    email: 'm@example.com',
    role: 'user',
    method: 'session',
  }
  const signed = (text: string, key = ours.privateKey) =>
    `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  const token = (header: object = {}, claims: object = {}, key = ours.privateKey) =>
    signed(`${encode({ ...HEADER, ...header })}.${encode({ ...CLAIMS, ...claims })}`, key)
  const good = token()
  const [head, body, signature = ''] = good.split('.')
  const hmac = async (secret: string) =>
    new SignJWT(CLAIMS).setProtectedHeader({ ...HEADER, alg: 'HS256' }).sign(new TextEncoder().encode(secret))
  const der = sign('sha256', Buffer.from(`${head}.${body}`), ours.privateKey).toString('base64url')
  assert.equal(await verdict(verifier, good), 'ok')

  const hostile: Record<string, string> = {
    'no signature, alg none': `${encode({ ...HEADER, alg: 'none' })}.${body}.`,
    'alg none with a signature': token({ alg: 'none' }),
    'alg None': token({ alg: 'None' }),
    'HS256 with the public key as the secret': await hmac(ours.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    'HS256 with a coordinate as the secret': await hmac(String(jwk.x)),
    'alg ES384 over the same signature': token({ alg: 'ES384' }),
    'alg as a list': token({ alg: ['ES256'] }),
    'no alg': token({ alg: undefined }),
    'another key under a known id': token({}, {}, theirs.privateKey),
    'an unknown key': token({ kid: 'theirs' }, {}, theirs.privateKey),
    'a key in the header': token({ kid: 'theirs', jwk: theirs.publicKey.export({ format: 'jwk' }) }, {}, theirs.privateKey),
    'the address of a key set in the header': token({ kid: 'theirs', jku: 'http://127.0.0.1:1/' }, {}, theirs.privateKey),
    'a key of another algorithm': token({ kid: 'rsa' }),
    'a key that only claims to be for ES256': token({ kid: 'disguised' }),
    'a key for encryption': token({ kid: 'encryption' }),
    'no key id': token({ kid: undefined }),
    'a key id that is a number': token({ kid: 1 }),
    'a key id of the prototype': token({ kid: '__proto__' }),
    'a session token by its type': token({ typ: 'JWT' }),
    'no type': token({ typ: undefined }),
    'a critical extension': token({ crit: ['b64'], b64: false }),
    'another issuer': token({}, { iss: 'https://evil.example' }),
    'an issuer with a slash': token({}, { iss: `${url}/` }),
    'no issuer': token({}, { iss: undefined }),
    'another audience': token({}, { aud: 'billing' }),
    'a list of audiences': token({}, { aud: ['reports', 'billing'] }),
    'no audience': token({}, { aud: undefined }),
    'no expiry': token({}, { exp: undefined }),
    'an expiry that is a text': token({}, { exp: String(seconds + 60) }),
    'an expiry that is null': token({}, { exp: null }),
    'an expiry beyond all dates': token({}, { exp: 1e300 }),
    'no user': token({}, { sub: undefined }),
    'a user that is a number': token({}, { sub: 7 }),
    'a user that is not a number': token({}, { sub: '7; drop table users' }),
    'an unknown role': token({}, { role: 'owner' }),
    'no method': token({}, { method: undefined }),
    'scopes as a list': token({}, { method: 'api_key', scope: ['notes:read'] }),
    'a changed claim': `${head}.${encode({ ...CLAIMS, role: 'admin' })}.${signature}`,
    'a changed header': `${encode({ ...HEADER, x: 1 })}.${body}.${signature}`,
    'an empty signature': `${head}.${body}.`,
    'a short signature': `${head}.${body}.${signature.slice(0, 20)}`,
    'a signature of a length that base64 cannot have': `${head}.${body}.${signature.slice(0, 21)}`,
    'a signature of zeros': `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`,
    'a signature in DER': `${head}.${body}.${der}`,
    'two parts': `${head}.${body}`,
    'four parts': `${good}.${signature}`,
    padding: `${good}==`,
    'characters of base64': `${head}.${body}.${signature.slice(0, -2)}+/`,
    'a payload that is not JSON': signed(`${head}.${Buffer.from('hello').toString('base64url')}`),
    'a payload that is null': signed(`${head}.${encode(null)}`),
    'a payload that is not UTF-8': signed(`${head}.${Buffer.from([0x22, 0xff, 0x22]).toString('base64url')}`),
    'a header that is not JSON': `aGVsbG8.${body}.${signature}`,
    'a header that is a list': signed(`${encode(['ES256'])}.${body}`),
    'a huge token': token({}, { email: 'm'.repeat(20_000) }),
    text: 'hello',
  }
  for (const [name, text] of Object.entries(hostile)) assert.equal(await verdict(verifier, text), '401 token_invalid', name)
  assert.equal(await verdict(verifier, token({}, { exp: seconds - 1 })), '401 token_expired')
  assert.equal(await verdict(verifier, token({}, { exp: seconds })), '401 token_expired')
  assert.equal(await verdict(verifier, ''), '401 not_authenticated')
})

test('a token of the service for its own routes is refused', async (t) => {
  const { mia, verifier, watched } = await start(t)
  assert.equal(await verdict(verifier, mia.token), '401 token_invalid')
  // Refused by its header alone.
  assert.deepEqual(watched.calls, [])
})

test('keys are fetched again for a token that names an unknown one, and not more often than every 30 seconds', async (t) => {
  const { service, mia, watched, verifier } = await start(t)
  await verdict(verifier, await issueToken(service.app, mia))
  const { privateKey } = await generateKeyPair('ES256')
  const unknown = (kid: string) => new SignJWT({}).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid }).sign(privateKey)
  service.clock.advance({ seconds: 30 })
  for (const kid of ['a', 'b', 'c']) assert.equal(await verdict(verifier, await unknown(kid)), '401 token_invalid')
  assert.equal(watched.calls.length, 2)
  service.clock.advance({ seconds: 30 })
  const many = ['d', 'e', 'f'].map(async (kid) => verdict(verifier, await unknown(kid)))
  assert.deepEqual(await Promise.all(many), Array(3).fill('401 token_invalid'))
  assert.equal(watched.calls.length, 3)
})

test('a rotated signing key is found', async (t) => {
  const { service, mia, verifier } = await start(t)
  assert.equal(await verdict(verifier, await issueToken(service.app, mia)), 'ok')
  await service.services.signingKeys.rotate(ORIGIN)
  service.clock.advance({ minutes: 16 })
  assert.equal(await verdict(verifier, await issueToken(service.app, mia)), 'ok')
})

test('a key that is withdrawn is trusted for five minutes at most', async (t) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  let published = [{ ...(await exportJWK(publicKey)), kid: 'leaked', alg: 'ES256', use: 'sig' }]
  const { url } = await keySetServer(t, () => published)
  let now = Date.now()
  const verifier = createOfflineVerifier({ url, audience: 'reports', now: () => now })
  const exp = Math.floor(now / 1000) + 900
  const claims = { iss: url, sub: '7', aud: 'reports', exp, email: 'm@example.com', role: 'user', method: 'session' }
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'leaked' }).sign(privateKey)
  assert.equal(await verdict(verifier, token), 'ok')
  published = []
  now += 299_000
  assert.equal(await verdict(verifier, token), 'ok')
  now += 1000
  assert.equal(await verdict(verifier, token), '401 token_invalid')
})

test('during an outage, known keys are trusted for an hour; without any, nobody passes', async (t) => {
  const { service, mia, verifier } = await start(t)
  const token = await issueToken(service.app, mia, { lifetime_seconds: 900 })
  assert.equal(await verdict(verifier, token), 'ok')
  await service.app.close()
  service.clock.advance({ minutes: 10 })
  assert.equal(await verdict(verifier, token), 'ok')
  service.clock.advance({ minutes: 50 })
  assert.equal(await verdict(verifier, token), '503 unavailable')
  const cold = createOfflineVerifier({ url: `http://127.0.0.1:${await freePort()}`, audience: 'reports' })
  assert.equal(await verdict(cold, token), '503 unavailable')
})

test('the issuer may differ from the URL at which the service is reached, and an audience is needed', async (t) => {
  const { service, mia } = await start(t)
  const { app, config, clock } = service
  const token = await issueToken(app, mia)
  const inside = service.url.replace('127.0.0.1', 'localhost')
  const make = (issuer?: string) => createOfflineVerifier({ url: `${inside}/`, audience: 'reports', issuer, now: clock.now })
  assert.equal(await verdict(make(), token), '401 token_invalid')
  assert.equal(await verdict(make(config.baseUrl), token), 'ok')
  assert.throws(() => createOfflineVerifier({ url: service.url, audience: '' }), TypeError)
})
