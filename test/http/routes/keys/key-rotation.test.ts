import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { MAX_RETIRING_SECRETS } from '../../../../src/domain/keys/keys.service.ts'
import { createHousekeeping } from '../../../../src/domain/operations/housekeeping.ts'
import { MAX_OVERLAP_SECONDS } from '../../../../src/domain/values/limits.ts'
import { isWellFormedApiKey } from '../../../../src/security/api-key-secret.ts'
import { statement } from '../../../../src/storage/database.ts'
import { type Actor, admin, type KeyHolder, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

const RETIRING = statement<{ count: number }>('select count(*) as count from retiring_secrets')

type Rotated = { id: string; key: string; retiring_until: string | null }

function rotate({ app }: Pick<TestApp, 'app'>, { headers }: Pick<Actor, 'headers'>, keyId: string, overlap_seconds?: number) {
  const payload = overlap_seconds === undefined ? {} : { payload: { overlap_seconds } }
  return app.inject({ method: 'POST', url: `/users/keys/${keyId}/rotate?details=true`, headers, ...payload })
}

async function rotated(service: TestApp, by: Pick<Actor, 'headers'>, keyId: string, overlap?: number): Promise<Rotated> {
  const response = await rotate(service, by, keyId, overlap)
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

/** The status of a request with each of the secrets. */
async function statuses({ app }: TestApp, ...secrets: readonly string[]): Promise<number[]> {
  const responses = secrets.map((secret) => app.inject({ url: '/users/me', headers: { 'x-api-key': secret } }))
  return (await Promise.all(responses)).map(({ statusCode }) => statusCode)
}

async function countRetiring({ db }: TestApp): Promise<number | undefined> {
  return (await db.first(RETIRING))?.count
}

async function setUp(t: Parameters<typeof startApp>[0]): Promise<{ service: TestApp; mia: Actor; holder: KeyHolder }> {
  const service = await startApp(t)
  const mia = await member(service)
  return { service, mia, holder: await keyHolder(service, mia, { scopes: ['a'], expiresAt: service.clock.now() + 90 * 86_400_000 }) }
}

test('200: a rotation without a body replaces the secret at once, and nothing else', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const url = `/users/keys/${holder.keyId}`
  const before = (await service.app.inject({ url: `${url}?details=true`, headers: mia.headers })).json()
  const response = await service.app.inject({ method: 'POST', url: `${url}/rotate`, headers: mia.headers })
  const { key, ...view } = response.json<Record<string, unknown> & { key: string }>()
  assert.deepEqual([response.statusCode, view], [200, (await service.app.inject({ url, headers: mia.headers })).json()])
  assert.ok(isWellFormedApiKey(key))
  assert.deepEqual(await statuses(service, holder.key, key), [401, 200])
  refused(await service.app.inject({ url: '/users/me', headers: holder.headers }), 401, 'Invalid API key')
  const after = (await service.app.inject({ url: `${url}?details=true`, headers: mia.headers })).json()
  assert.deepEqual({ ...after, last_used_at: null }, { ...before, prefix: key.slice(0, 9) })
  assert.equal(await countRetiring(service), 0)
})

test('200: the former secret works until the overlap ends, and its uses count', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const { key, retiring_until } = await rotated(service, mia, holder.keyId, 60)
  assert.equal(retiring_until, new Date(service.clock.now() + 60_000).toISOString())
  service.clock.advance({ ms: 59_999 })
  assert.deepEqual(await statuses(service, holder.key, key), [200, 200])
  service.clock.advance({ ms: 1 })
  assert.deepEqual(await statuses(service, holder.key, key), [401, 200])
  const url = `/users/keys/${holder.keyId}?details=true`
  assert.equal((await service.app.inject({ url, headers: mia.headers })).json<Rotated>().retiring_until, null)
})

test('200: several secrets retire at once, and retiring_until is the latest end', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const second = await rotated(service, mia, holder.keyId, 3600)
  const third = await rotated(service, mia, holder.keyId, 60)
  assert.equal(third.retiring_until, new Date(service.clock.now() + 3_600_000).toISOString())
  assert.deepEqual(await statuses(service, holder.key, second.key, third.key), [200, 200, 200])
  service.clock.advance({ minutes: 1 })
  assert.deepEqual(await statuses(service, holder.key, second.key, third.key), [200, 401, 200])
  const fourth = await rotated(service, mia, holder.keyId)
  assert.equal(fourth.retiring_until, null)
  assert.deepEqual(await statuses(service, holder.key, second.key, third.key, fourth.key), [401, 401, 401, 200])
  assert.equal(await countRetiring(service), 0)
})

test(`200: at most ${MAX_RETIRING_SECRETS} secrets retire at once: one more ends the first that was replaced`, async (t) => {
  const { service, mia, holder } = await setUp(t)
  const secrets = [holder.key]
  for (let count = 0; count <= MAX_RETIRING_SECRETS; count++) {
    // The later the rotation, the sooner the overlap ends.
    secrets.push((await rotated(service, mia, holder.keyId, 3600 - count * 60)).key)
    service.clock.advance({ ms: 1 })
  }
  assert.deepEqual(await statuses(service, ...secrets), [401, ...Array<number>(MAX_RETIRING_SECRETS + 1).fill(200)])
  assert.equal(await countRetiring(service), MAX_RETIRING_SECRETS)
})

const ENDINGS: Readonly<Record<string, (service: TestApp, mia: Actor, holder: KeyHolder) => Promise<unknown>>> = {
  'disabling the key': async ({ app }, { headers }, { keyId }) => {
    for (const is_active of [false, true])
      await app.inject({ method: 'PATCH', url: `/users/keys/${keyId}`, headers, payload: { is_active } })
  },
  'disabling of the key by an admin': async (service, { id }, { keyId }) => {
    const { headers } = await admin(service)
    const url = `/users/keys/by-user/${id}/${keyId}`
    for (const is_active of [false, true]) await service.app.inject({ method: 'PATCH', url, headers, payload: { is_active } })
  },
  'the expiry of the key': async ({ app, clock }, { headers }, { keyId }) => {
    clock.advance({ days: 1 })
    await app.inject({ method: 'PATCH', url: `/users/keys/${keyId}`, headers, payload: { expires_at: null } })
  },
  'a self-revocation': async ({ app }, { headers }, { keyId, key }) => {
    await app.inject({ method: 'DELETE', url: '/auth/key', headers: { 'x-api-key': key } })
    await app.inject({ method: 'PATCH', url: `/users/keys/${keyId}`, headers, payload: { is_active: true } })
  },
  'a report of the former secret': async ({ app }, { headers }, { keyId, key }) => {
    await app.inject({ method: 'POST', url: '/auth/leaked', payload: [{ token: key, type: 'lk', url: '', source: 'content' }] })
    await app.inject({ method: 'PATCH', url: `/users/keys/${keyId}`, headers, payload: { is_active: true } })
  },
}

for (const [name, end] of Object.entries(ENDINGS)) {
  test(`401: ${name} ends the former secrets for good`, async (t) => {
    const { service, mia, holder } = await setUp(t)
    const payload = { expires_at: new Date(service.clock.now() + 60_000).toISOString() }
    if (name.includes('expiry'))
      await service.app.inject({ method: 'PATCH', url: `/users/keys/${holder.keyId}`, headers: mia.headers, payload })
    const { key } = await rotated(service, mia, holder.keyId, MAX_OVERLAP_SECONDS)
    assert.deepEqual(await statuses(service, holder.key, key), [200, 200])
    // A day later, tokens have expired too.
    const session = { ...mia, headers: (await keyHolder(service, mia)).headers }
    await end(service, session, holder)
    assert.deepEqual(await statuses(service, holder.key, key), [401, 200])
    assert.equal(await countRetiring(service), 0)
  })
}

test('401: an overlap neither outlives the key nor makes an expired or disabled key work', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const url = `/users/keys/${holder.keyId}`
  const change = (payload: object) => service.app.inject({ method: 'PATCH', url: `${url}?details=true`, headers: mia.headers, payload })
  const expiry = new Date(service.clock.now() + 60_000).toISOString()
  const { key } = await rotated(service, mia, holder.keyId, 3600)
  assert.equal((await change({ expires_at: expiry })).json<Rotated>().retiring_until, expiry)
  service.clock.advance({ minutes: 1 })
  assert.deepEqual(await statuses(service, holder.key, key), [401, 401])
  // The secret that an expired key had does not return with the next one.
  const next = await rotated(service, mia, holder.keyId, 3600)
  assert.equal(next.retiring_until, null)
  assert.equal((await change({ expires_at: null })).statusCode, 200)
  assert.deepEqual(await statuses(service, holder.key, key, next.key), [401, 401, 200])

  await change({ is_active: false })
  const last = await rotated(service, mia, holder.keyId, 3600)
  assert.deepEqual(await statuses(service, next.key, last.key), [401, 401])
  await change({ is_active: true })
  assert.deepEqual(await statuses(service, next.key, last.key), [401, 200])
})

test('204: a deleted key takes its former secrets with it', async (t) => {
  const { service, mia, holder } = await setUp(t)
  await rotated(service, mia, holder.keyId, 3600)
  await service.app.inject({ method: 'DELETE', url: `/users/keys/${holder.keyId}`, headers: mia.headers })
  assert.deepEqual(await statuses(service, holder.key), [401])
  assert.equal(await countRetiring(service), 0)
})

test('housekeeping deletes former secrets that have ended, and no other', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const second = await rotated(service, mia, holder.keyId, 60)
  const third = await rotated(service, mia, holder.keyId, 3600)
  service.clock.advance({ minutes: 1 })
  await createHousekeeping(service.db, service.clock.now, (error) => assert.fail(String(error))).run()
  assert.equal(await countRetiring(service), 1)
  assert.deepEqual(await statuses(service, holder.key, second.key, third.key), [401, 200, 200])
})

test('200: a key rotates itself; 403: a key with less than full access rotates nothing; 404: nobody rotates the key of another user', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const { key } = await rotated(service, holder, holder.keyId)
  assert.deepEqual(await statuses(service, holder.key, key), [401, 200])
  for (const access of ['read', 'identify'] as const) {
    const weak = await keyHolder(service, mia, { access })
    refused(await rotate(service, weak, weak.keyId), 403, 'Not enough permissions')
  }
  for (const other of [await member(service), await admin(service)]) {
    refused(await rotate(service, other, holder.keyId), 404, 'API key not found')
    refused(await rotate(service, other, randomUUID()), 404, 'API key not found')
  }
  assert.deepEqual(await statuses(service, key), [200])
})

test('422: an overlap that is not a whole number from 0 to 30 days rotates nothing', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const attempt = (payload: unknown) =>
    service.app.inject({
      method: 'POST',
      url: `/users/keys/${holder.keyId}/rotate`,
      headers: { ...mia.headers, 'content-type': 'application/json' },
      payload: JSON.stringify(payload),
    })
  const overlap = (type: string) => ({ loc: ['body', 'overlap_seconds'], type })
  for (const value of ['60', 1.5, true, null, [], {}]) invalid(await attempt({ overlap_seconds: value }), overlap('int_type'))
  invalid(await attempt({ overlap_seconds: -1 }), overlap('greater_than_equal'))
  invalid(await attempt({ overlap_seconds: MAX_OVERLAP_SECONDS + 1 }), overlap('less_than_equal'))
  for (const value of [[], 'text', 5, null]) invalid(await attempt(value), { loc: ['body'], type: 'model_attributes_type' })
  assert.deepEqual(await statuses(service, holder.key), [200])
  assert.equal((await attempt({ overlap_seconds: MAX_OVERLAP_SECONDS })).statusCode, 200)
})

test('of rotations that race, exactly one secret is the current one, and each former one works while its overlap lasts', async (t) => {
  const { service, mia, holder } = await setUp(t)
  const other = await secondApp(t, service)
  const race = (overlap: number) =>
    Promise.all(Array.from({ length: 8 }, (_, index) => rotate({ app: index % 2 === 0 ? service.app : other }, mia, holder.keyId, overlap)))
  const kept = (await race(60)).map((response) => response.json<Rotated>().key)
  assert.equal(new Set(kept).size, 8)
  assert.deepEqual(await statuses(service, holder.key, ...kept), Array<number>(9).fill(200))
  assert.equal(await countRetiring(service), 8)
  const replaced = (await race(0)).map((response) => response.json<Rotated>().key)
  const found = await statuses(service, ...replaced)
  assert.equal(found.filter((status) => status === 200).length, 1)
  assert.deepEqual(await statuses(service, holder.key, ...kept), Array<number>(9).fill(401))
})

test('a rotation that races with a revocation never leaves a secret that works', async (t) => {
  const { service, mia } = await setUp(t)
  const other = await secondApp(t, service)
  for (let round = 0; round < 12; round++) {
    const holder = await keyHolder(service, mia)
    const disable = { method: 'PATCH', url: `/users/keys/${holder.keyId}`, headers: mia.headers, payload: { is_active: false } } as const
    const report = { method: 'POST', url: '/auth/leaked', payload: [{ token: holder.key, type: 'lk' }] } as const
    const revocation = round % 2 === 0 ? disable : report
    const [response, revoked] = await Promise.all([rotate(service, mia, holder.keyId, 3600), other.inject(revocation)])
    assert.deepEqual([response.statusCode, revoked.statusCode], [200, 200])
    assert.deepEqual(await statuses(service, holder.key, response.json<Rotated>().key), [401, 401])
    await service.app.inject({ ...disable, payload: { is_active: true } })
    assert.deepEqual(await statuses(service, holder.key), [401], 'the former secret returned')
  }
})

/** What the rule says about the secrets of a key: the current one, and when each former one ends. */
type Model = { current: string; isActive: boolean; former: Map<string, number> }

type Step = { readonly rotate: number } | { readonly isActive: boolean } | { readonly waitS: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ rotate: fc.constantFrom(0, 10, 60, 600) }),
  fc.record({ isActive: fc.boolean() }),
  fc.record({ waitS: fc.constantFrom(1, 10, 59, 600) }),
)

/** Takes one step with the key and with the model. The owner comes with another key, because a token expires while the test waits. */
async function take(service: TestApp, owner: KeyHolder, keyId: string, model: Model, each: Step): Promise<void> {
  if ('waitS' in each) return service.clock.advance({ seconds: each.waitS })
  if ('isActive' in each) {
    const payload = { is_active: each.isActive }
    await service.app.inject({ method: 'PATCH', url: `/users/keys/${keyId}`, headers: owner.headers, payload })
    model.isActive = each.isActive
    if (!each.isActive) model.former.clear()
    return
  }
  const { key } = await rotated(service, owner, keyId, each.rotate)
  if (each.rotate > 0 && model.isActive) model.former.set(model.current, service.clock.now() + each.rotate * 1000)
  else model.former.clear()
  model.current = key
}

test('after any sequence of rotations, changes and waits, exactly the secrets of the rule work', async (t) => {
  const { service, mia } = await setUp(t)
  const owner = await keyHolder(service, mia)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const holder = await keyHolder(service, mia)
      const model: Model = { current: holder.key, isActive: true, former: new Map() }
      const secrets = new Set([holder.key])
      for (const each of steps) {
        await take(service, owner, holder.keyId, model, each)
        secrets.add(model.current)
      }
      const works = (secret: string) => secret === model.current || (model.former.get(secret) ?? 0) > service.clock.now()
      const expected = [...secrets].map((secret) => (model.isActive && works(secret) ? 200 : 401))
      assert.deepEqual(await statuses(service, ...secrets), expected)
    }),
    { numRuns: 25 },
  )
})
