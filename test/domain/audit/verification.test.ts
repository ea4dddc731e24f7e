import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CHAIN_START } from '../../../src/domain/audit/chain.ts'
import { createSealer, type Sealer } from '../../../src/domain/audit/sealer.ts'
import { verifyTrail } from '../../../src/domain/audit/verification.ts'
import type { AuditProblem } from '../../../src/model/audit.ts'
import { Refusal } from '../../../src/model/refusal.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createAuditSeals, erasableDigest, linkHash, markContent } from '../../../src/security/audit-seals.ts'
import { readsOf, statement } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { findMark, listLinks, setMark } from '../../../src/storage/repositories/audit/event-seal.repository.ts'
import { admin, member } from '../../support/app/actors.ts'
import { sealerOf } from '../../support/app/audit.ts'
import { until } from '../../support/app/eventually.ts'
import { secondApp, startApp, type TestApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'

const OTHER_SECRET = new TextEncoder().encode('fK5pX8wQ2vB7nM4jH1tR6yU3eG9sD0aL')
const CHANGE_FIFTH = statement("update events set kind = 'user.verified' where id = 5")
const RELINK = statement('update event_seals set hash = $2, mac = $3, mac_key = $4, digest = $5 where position = $1')
const REMOVE_LAST_EVENT = statement('delete from events where id = (select max(id) from events)')
const REMOVE_LAST_LINK = statement('delete from event_seals where position = (select max(position) from event_seals)')

const COUNT_KEYS = statement<{ count: number }>('select count(*) as count from api_keys')

type Trail = TestApp & { readonly sealer: Sealer }

/** A service whose trail has ten sealed events. */
async function sealedTrail(t: ContractContext): Promise<Trail> {
  const service = await startApp(t)
  const sealer = sealerOf(service)
  const [boss, mia] = [await admin(service), await member(service)]
  for (const path of ['ban', 'unban', 'ban', 'unban', 'ban', 'unban', 'ban', 'unban'])
    await service.app.inject({ method: 'POST', url: `/users/${mia.id}/${path}`, headers: boss.headers })
  await sealer.run()
  const { problem, sealed } = await service.services.audit.verify()
  assert.deepEqual({ problem, sealed }, { problem: undefined, sealed: 10 })
  return { ...service, sealer }
}

async function firstProblem({ services }: TestApp): Promise<AuditProblem | undefined> {
  return (await services.audit.verify()).problem
}

const CHANGED = 'the event or its link was changed'
const TAMPERING: Readonly<Record<string, readonly [sql: readonly string[], problem: AuditProblem]>> = {
  'a changed kind': [["update events set kind = 'user.verified' where id = 5"], { eventId: 5, position: 5, reason: CHANGED }],
  'a changed time': [['update events set at = at - 1 where id = 5'], { eventId: 5, position: 5, reason: CHANGED }],
  'a changed actor': [['update events set actor = null where id = 5'], { eventId: 5, position: 5, reason: CHANGED }],
  'a changed address': [
    ["update events set ip = '203.0.113.9' where id = 5"],
    { eventId: 5, position: 5, reason: 'the address or the details of the event were changed' },
  ],
  'an address that was removed': [
    ['update events set ip = null where id = 5'],
    { eventId: 5, position: 5, reason: 'the address or the details of the event were changed' },
  ],
  'an address that was erased with its salt': [
    ['update events set ip = null, detail = null, salt = null where id = 5'],
    { eventId: 5, position: 5, reason: 'the address and the details were erased without an event that says so' },
  ],
  'a removed event': [['delete from events where id = 5'], { eventId: 5, position: 5, reason: 'the event was removed' }],
  'a removed event with its link': [
    ['delete from events where id = 5', 'delete from event_seals where event_id = 5'],
    { eventId: undefined, position: 5, reason: 'the event at this position was removed with its link' },
  ],
  'a removed event whose successors moved up': [
    [
      'delete from events where id = 5',
      'delete from event_seals where event_id = 5',
      'update event_seals set position = position - 100 where position > 5',
      'update event_seals set position = position + 99 where position < 0',
    ],
    { eventId: 6, position: 5, reason: CHANGED },
  ],
  'two events that were swapped': [
    [
      'update event_seals set event_id = -5 where position = 5',
      'update event_seals set event_id = 5 where position = 6',
      'update event_seals set event_id = 6 where position = 5',
    ],
    { eventId: 6, position: 5, reason: CHANGED },
  ],
  'an inserted event': [
    [
      `insert into events (at, kind, actor, via, target, ip, salt, mac, mac_key)
       select at, 'user.promoted', actor, via, target, ip, salt, 'invented', mac_key from events where id = 5`,
    ],
    { eventId: 11, position: undefined, reason: 'the event was inserted or changed before it was sealed' },
  ],
  'a copied event': [
    [
      `insert into events (at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key)
       select at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key from events where id = 5`,
    ],
    { eventId: 11, position: undefined, reason: 'the event is a copy of another one' },
  ],
  'the removed beginning': [
    ['delete from events where id <= 3', 'delete from event_seals where position <= 3'],
    { eventId: undefined, position: 1, reason: 'the event at this position was removed with its link' },
  ],
  'the removed end': [
    ['delete from events where id > 7', 'delete from event_seals where position > 7'],
    { eventId: undefined, position: 8, reason: 'the last 3 events were removed' },
  ],
  'the removed end, and the record of the end adapted to it': [
    [
      'delete from events where id > 7',
      'delete from event_seals where position > 7',
      `update audit_marks set position = 7, hash = (select hash from event_seals where position = 7) where name = 'head'`,
    ],
    { eventId: undefined, position: 7, reason: 'the record of the end of the chain was changed' },
  ],
  'the removed record of the end': [
    ["delete from audit_marks where name = 'head'"],
    { eventId: undefined, position: 10, reason: 'the record of the end of the chain was removed' },
  ],
  'a beginning that was declared to be pruned': [
    [
      `insert into audit_marks (name, position, hash, marked_at, mac, mac_key)
       select 'anchor', position, hash, sealed_at, mac, mac_key from event_seals where position = 3`,
      'delete from events where id <= 3',
      'delete from event_seals where position <= 3',
    ],
    { eventId: undefined, position: 3, reason: 'the record of the beginning of the chain was changed' },
  ],
}

for (const [what, [sql, problem]] of Object.entries(TAMPERING)) {
  const changes = sql.map((text) => statement(text))
  test(`a verification finds ${what}`, async (t) => {
    const trail = await sealedTrail(t)
    for (const change of changes) await trail.db.run(change)
    assert.deepEqual(await firstProblem(trail), problem)
    // Whatever is sealed afterwards, the tampering is still found, and found at the same place.
    await member(trail)
    await trail.sealer.run().catch(() => undefined)
    const still = (await firstProblem(trail)) ?? assert.fail('the tampering is no longer found')
    assert.deepEqual([still.eventId, still.position], [problem.eventId, problem.position])
  })
}

/** Links all events again, as somebody would who can write to the database but does not have the secret. */
async function rebuild({ db, clock }: TestApp, macKey?: string): Promise<void> {
  const own = createAuditSeals([OTHER_SECRET])
  const sealed = (what: 'link' | 'head', content: string) => ({ ...own.seal(what, content), ...(macKey !== undefined && { macKey }) })
  await db.transaction(async (tx) => {
    let place = CHAIN_START
    for (const { seal, event } of await listLinks(tx, 0, 100)) {
      assert.ok(event)
      const digest = erasableDigest(event.salt ?? '', event)
      const hash = linkHash(place.hash, { ...seal, digest }, event)
      place = { position: seal.position, hash }
      const { mac, macKey: name } = sealed('link', hash)
      await tx.run(RELINK, seal.position, hash, mac, name, digest)
    }
    const mark = { ...place, markedAt: clock.now() }
    await setMark(tx, 'head', { ...mark, ...sealed('head', markContent(mark)) })
  })
}

test('a verification finds a chain that was rebuilt without the secret', async (t) => {
  const trail = await sealedTrail(t)
  const { currentKey } = createAuditSeals(secretsOf(trail.config))
  await trail.db.run(CHANGE_FIFTH)
  await rebuild(trail, currentKey)
  assert.deepEqual(await firstProblem(trail), { eventId: 1, position: 1, reason: 'the link was not made with SECRET_KEY' })
  await rebuild(trail)
  const unknown = 'the end of the chain was sealed with a secret that is neither SECRET_KEY nor one of its fallbacks'
  assert.deepEqual(await firstProblem(trail), { eventId: undefined, position: 10, reason: unknown })
  await member(trail)
  await assert.rejects(trail.sealer.run(), { name: 'BrokenChain' })
  assert.deepEqual(await firstProblem(trail), { eventId: undefined, position: 10, reason: unknown })
})

test('the running service notices that the end was replaced by an earlier one', async (t) => {
  const trail = await sealedTrail(t)
  const earlier = await findMark(trail.db, 'head')
  await member(trail)
  await trail.sealer.run()
  await trail.db.run(REMOVE_LAST_EVENT)
  await trail.db.run(REMOVE_LAST_LINK)
  await trail.db.transaction((tx) => setMark(tx, 'head', earlier ?? assert.fail()))
  await member(trail)
  await assert.rejects(trail.sealer.run(), { message: /the end of the chain was removed while the service was running/ })
})

test('events verify after SECRET_KEY was replaced, and after the former one is no longer known', async (t) => {
  const trail = await sealedTrail(t)
  const { db, clock } = trail
  const [former] = secretsOf(trail.config)
  const next = createSealer({ db, secrets: [OTHER_SECRET, former], now: clock.now, onFailure: (error) => assert.fail(String(error)) })
  const verifiedWith = async (...secrets: [Uint8Array, ...Uint8Array[]]) =>
    (await verifyTrail(readsOf(db), createAuditSeals(secrets))).problem?.reason
  assert.match((await verifiedWith(OTHER_SECRET)) ?? '', /neither SECRET_KEY nor one of its fallbacks/)
  assert.equal(await verifiedWith(OTHER_SECRET, former), undefined)
  // The next start vouches for both ends with the new secret, even if nothing happens.
  next.start()
  await next.stop()
  assert.equal(await verifiedWith(OTHER_SECRET), undefined)
  assert.equal(await verifiedWith(former, OTHER_SECRET), undefined)
  await member(trail)
  await next.run()
  assert.equal(await verifiedWith(OTHER_SECRET), undefined)
  await db.run(CHANGE_FIFTH)
  assert.equal(await verifiedWith(OTHER_SECRET), CHANGED)
})

function requireOutage(error: unknown): void {
  if (!(error instanceof Refusal && error.code === 'unavailable')) throw error
}

/** Asserts that the trail is in order. Returns false if the database was too busy to say so in time. */
async function isVerified(service: TestApp): Promise<boolean> {
  try {
    assert.equal(await firstProblem(service), undefined)
    return true
  } catch (error) {
    requireOutage(error)
    return false
  }
}

test('several processes write and seal at the same time, and everything verifies', async (t) => {
  const service = await startApp(t)
  const elsewhere = await secondApp(t, service)
  const people = await Promise.all(Array.from({ length: 6 }, () => member(service)))
  const databases = await Promise.all([1, 2, 3].map(() => openDatabase(service.config.database)))
  t.after(() => Promise.all(databases.map((db) => db.close())))
  const sealers = databases.map((db) => sealerOf({ ...service, db }))
  let isWriting = true
  // Each writes as fast as it can, to one file. A write that cannot begin in time is refused and repeated, as in the service.
  const sealing = Promise.all(
    sealers.map(async (sealer) => {
      while (isWriting) {
        await sealer.run().catch(requireOutage)
        await nextTurn()
      }
    }),
  )
  await Promise.all(
    people.flatMap(({ headers }) =>
      [service.app, elsewhere].map(async (app) => {
        for (let n = 0; n < 15; n++) {
          await until(
            'the key is created',
            async () => {
              const { statusCode } = await app.inject({ method: 'POST', url: '/users/keys', headers, payload: { name: 'key' } })
              assert.ok(statusCode === 200 || statusCode === 503, String(statusCode))
              return statusCode === 200
            },
            60_000,
          )
          if (n % 5 === 0) await until('the trail is verified', () => isVerified(service))
        }
      }),
    ),
  )
  isWriting = false
  await sealing
  await sealerOf(service).run()
  const { problem, sealed, unsealed } = await service.services.audit.verify()
  const keys = (await service.db.first(COUNT_KEYS))?.count ?? 0
  assert.ok(keys >= 6 * 2 * 15, String(keys))
  assert.deepEqual({ problem, sealed, unsealed }, { problem: undefined, sealed: 6 + keys, unsealed: 0 })
})

test('a trail that nobody has sealed yet is in order', async (t) => {
  const service = await startApp(t)
  assert.deepEqual(await service.services.audit.verify(), {
    problem: undefined,
    sealed: 0,
    unsealed: 0,
    pruned: 0,
    erased: 0,
    late: 0,
    head: { position: 0, hash: '' },
    containsExpected: undefined,
  })
  await member(service)
  assert.equal((await service.services.audit.verify()).unsealed, 1)
})

test('a verification counts events that were sealed late', async (t) => {
  const trail = await sealedTrail(t)
  await member(trail)
  trail.clock.advance({ hours: 2 })
  await trail.sealer.run()
  const { problem, late } = await trail.services.audit.verify()
  assert.deepEqual({ problem, late }, { problem: undefined, late: 1 })
})
