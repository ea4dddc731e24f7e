import assert from 'node:assert/strict'
import { decodeProtectedHeader, type JSONWebKeySet } from 'jose'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { deriveKeys, type Secrets } from '../../../src/security/derived-keys.ts'
import { createSealer } from '../../../src/security/sealing.ts'
import { createServices } from '../../../src/services.ts'
import { listSigningKeys } from '../../../src/storage/repositories/identity/signing-key.repository.ts'
import { keyHolder, member } from '../../support/app/actors.ts'
import { secondApp, startApp, TEST_SECRET, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'
import { issueToken, readKeySet, verifyToken } from '../../support/servers/offline-verifier.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const OLD = encode(TEST_SECRET)
const NEW = encode('another secret, which nobody can guess 7Hq2')

const kidOf = (token: string) => decodeProtectedHeader(token).kid

function signingKeysOf({ db, config, clock }: TestApp, secrets: Secrets) {
  return createServices(config, { db, secrets: () => secrets, now: clock.now }).signingKeys
}

/** The same service with other secrets, like a process that was started after SECRET_KEY changed. */
function appWith(t: Parameters<typeof secondApp>[0], service: TestApp, [secretKey, ...secretKeyFallbacks]: Secrets): Promise<App> {
  return secondApp(t, { ...service, config: { ...service.config, secretKey, secretKeyFallbacks } })
}

test('rotation: a new key is in every cached set before it signs, and every token is valid until it expires', async (t) => {
  const service = await startApp(t)
  const mia = await keyHolder(service, await member(service))
  const { signingKeys } = service.services
  const issued: { token: string; expiresAt: number }[] = []
  const sets: { keySet: JSONWebKeySet; readAt: number }[] = []
  const kids = new Set<string | undefined>()
  for (let minute = 0; minute <= 100; minute++) {
    if (minute === 10 || minute === 12 || minute === 40) await signingKeys.rotate(ORIGIN)
    if (minute % 15 === 0) await signingKeys.maintain(ORIGIN)
    const now = service.clock.now()
    const token = await issueToken(service.app, mia, { lifetime_seconds: 900 })
    kids.add(kidOf(token))
    issued.push({ token, expiresAt: now + 900_000 - 1000 })
    sets.push({ keySet: await readKeySet(service.app), readAt: now })
    // Every set that a cache may still have verifies every token that has not expired, except a set from before the token.
    const cached = sets.filter(({ readAt }) => readAt >= now - 300_000)
    for (const { token: one } of issued.filter((entry) => entry.expiresAt > now).slice(-3))
      for (const { keySet } of cached) await verifyToken(service, keySet, one)
    for (const { token: one } of issued.filter((entry) => entry.expiresAt > now))
      await verifyToken(service, sets.at(-1)?.keySet ?? assert.fail(), one)
    service.clock.advance({ minutes: 1 })
  }
  assert.equal(kids.size, 4, 'each key has signed')
  assert.equal((await listSigningKeys(service.db)).length, 1, 'keys that nobody needs are deleted')
})

test('rotation: the key that signs changes 15 minutes after the rotation, not before', async (t) => {
  const service = await startApp(t)
  const mia = await keyHolder(service, await member(service))
  const first = kidOf(await issueToken(service.app, mia))
  const { id } = await service.services.signingKeys.rotate(ORIGIN)
  assert.deepEqual(
    (await readKeySet(service.app)).keys.map(({ kid }) => kid),
    [first, id],
  )
  service.clock.advance({ minutes: 15, ms: -1 })
  assert.equal(kidOf(await issueToken(service.app, mia)), first)
  service.clock.advance({ ms: 1 })
  assert.equal(kidOf(await issueToken(service.app, mia)), id)
  // A verifier whose clock is five minutes behind accepts tokens of the first key for 20 minutes more.
  service.clock.advance({ minutes: 20, ms: -1 })
  assert.deepEqual(
    (await readKeySet(service.app)).keys.map(({ kid }) => kid),
    [first, id],
  )
  service.clock.advance({ ms: 1 })
  assert.deepEqual(
    (await readKeySet(service.app)).keys.map(({ kid }) => kid),
    [id],
  )
})

test('two processes that create the first key at the same time leave one', async (t) => {
  const service = await startApp(t)
  const elsewhere = await secondApp(t, service)
  const mia = await keyHolder(service, await member(service))
  const apps = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? service.app : elsewhere))
  const kids = await Promise.all(apps.map(async (app) => kidOf(await issueToken(app, mia))))
  assert.equal(new Set(kids).size, 1)
  assert.equal((await listSigningKeys(service.db)).length, 1)
})

test('a process whose clock is behind signs with the first key of another process', async (t) => {
  const service = await startApp(t)
  const mia = await keyHolder(service, await member(service))
  const first = kidOf(await issueToken(service.app, mia))
  const behind = { ...service, clock: { ...service.clock, now: () => service.clock.now() - 120_000 } }
  assert.equal(kidOf(await issueToken(await secondApp(t, behind), mia)), first)
})

test('an abrupt change of SECRET_KEY: a new key signs, and tokens of the old one stay valid until they expire', async (t) => {
  const service = await startApp(t)
  const mia = await keyHolder(service, await member(service))
  const before = await issueToken(service.app, mia, { lifetime_seconds: 900 })
  const restarted = await appWith(t, service, [NEW])
  const after = await issueToken(restarted, mia)
  assert.notEqual(kidOf(after), kidOf(before))
  assert.equal(kidOf(await issueToken(restarted, mia)), kidOf(after), 'one new key, not one for each token')
  await signingKeysOf(service, [NEW]).maintain(ORIGIN)
  service.clock.advance({ seconds: 299 })
  for (const token of [before, after]) await verifyToken(service, await readKeySet(restarted), token)
  service.clock.advance({ seconds: 600 })
  await verifyToken(service, await readKeySet(restarted), before)
  service.clock.advance({ minutes: 6 })
  assert.deepEqual(
    (await readKeySet(restarted)).keys.map(({ kid }) => kid),
    [kidOf(after)],
  )
})

test('SECRET_KEY_FALLBACKS: the key stays, is encrypted again, and then no longer needs the former secret', async (t) => {
  const service = await startApp(t)
  const mia = await keyHolder(service, await member(service))
  const kid = kidOf(await issueToken(service.app, mia))
  assert.equal(kidOf(await issueToken(await appWith(t, service, [NEW, OLD]), mia)), kid)
  await signingKeysOf(service, [NEW, OLD]).maintain(ORIGIN)
  assert.equal(kidOf(await issueToken(await appWith(t, service, [NEW]), mia)), kid)
  assert.equal(kidOf(await issueToken(await appWith(t, service, [OLD, NEW]), mia)), kid, 'a process that was not restarted yet')
  assert.equal((await listSigningKeys(service.db)).length, 1)
})

test('a copy of the database without SECRET_KEY contains no signing key that anybody could use', async (t) => {
  const service = await startApp(t)
  await issueToken(service.app, await member(service))
  const [key, ...others] = await listSigningKeys(service.db)
  if (key === undefined) assert.fail('there is no key')
  assert.deepEqual(others, [])
  assert.ok(!('d' in JSON.parse(key.publicJwk)), 'the public part has no private part')
  assert.match(key.sealedPrivateKey, /^v1\.[\w-]{100,}$/)
  assert.doesNotMatch(Buffer.from(key.sealedPrivateKey.slice(3), 'base64url').toString('latin1'), /PRIVATE KEY/)
  for (const secrets of [[NEW], [encode('')], [OLD.subarray(1)]] as const)
    assert.equal(createSealer(deriveKeys([...secrets], 'signing-keys')).open(key.sealedPrivateKey, key.id), undefined)
  assert.equal(createSealer(deriveKeys([OLD], 'audit-seals')).open(key.sealedPrivateKey, key.id), undefined, 'another purpose')
  assert.equal(createSealer(deriveKeys([OLD], 'signing-keys')).open(key.sealedPrivateKey, 'another id'), undefined, 'another row')
})

test('maintenance creates the first key, once for all processes', async (t) => {
  const service = await startApp(t)
  const parts = [OLD, OLD, OLD].map((secret) => signingKeysOf(service, [secret]))
  await Promise.all(parts.map((keys) => keys.maintain(ORIGIN)))
  assert.equal((await listSigningKeys(service.db)).length, 1)
  assert.equal((await readKeySet(service.app)).keys.length, 1)
})
