import assert from 'node:assert/strict'
import { acceptTrail } from '../../../src/domain/audit/resealing.ts'
import { pruneEvents } from '../../../src/domain/audit/retention.ts'
import { createSealer } from '../../../src/domain/audit/sealer.ts'
import { verifyTrail } from '../../../src/domain/audit/verification.ts'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import type { ChainPlace } from '../../../src/model/audit.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createAuditSeals } from '../../../src/security/audit-seals.ts'
import { type Reads, readsOf, statement } from '../../../src/storage/database.ts'
import { findMark, setMark } from '../../../src/storage/repositories/audit/event-seal.repository.ts'
import { member } from '../../support/app/actors.ts'
import { sealerOf } from '../../support/app/audit.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const REMOVE_EVENTS_AFTER = statement('delete from events where id > $1')
const REMOVE_LINKS_AFTER = statement('delete from event_seals where position > $1')
const REMOVE_EVERYTHING = ['events', 'event_seals', 'audit_marks'].map((table) => statement(`delete from ${table}`))
const RESET_IDS = statement({
  postgres: "select setval(pg_get_serial_sequence('events', 'id'), 1, false)",
  sqlite: "delete from sqlite_sequence where name = 'events' returning name",
})

/** A service whose trail has this many sealed events. */
async function sealedTrail(t: ContractContext, count = 5) {
  const service = await startApp(t)
  const { ban, unban } = service.services.userAdministration
  const { id } = await member(service)
  for (let n = 1; n < count; n++) await (n % 2 === 1 ? ban(OPERATOR, id) : unban(OPERATOR, id))
  await sealerOf(service).run()
  return { ...service, mia: id }
}

/** Adds events and seals them. */
async function addEvents(service: TestApp, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await member(service)
  await sealerOf(service).run()
}

async function endOf({ services }: TestApp): Promise<ChainPlace> {
  return (await services.audit.verify()).head
}

async function compared({ services }: TestApp, expected: ChainPlace) {
  const { problem, containsExpected } = await services.audit.verify({ expected })
  return { problem, containsExpected }
}

test('a chain contains every end that it had, also the one up to which it was pruned', async (t) => {
  const trail = await sealedTrail(t)
  const ends = [await endOf(trail)]
  trail.clock.advance({ days: 40 })
  for (const count of [1, 2]) {
    await addEvents(trail, count)
    ends.push(await endOf(trail))
  }
  for (const end of ends) assert.deepEqual(await compared(trail, end), { problem: undefined, containsExpected: true })
  await pruneEvents(trail.db, secretsOf(trail.config), 39, trail.clock.now)
  assert.equal((await trail.services.audit.verify()).pruned, 5)
  for (const end of ends) assert.deepEqual(await compared(trail, end), { problem: undefined, containsExpected: true })
  // What was removed after its retention cannot be compared, and is not taken for tampering.
  const removed = { position: 4, hash: ends[0]?.hash ?? assert.fail() }
  assert.deepEqual(await compared(trail, removed), { problem: undefined, containsExpected: undefined })
})

test('a chain that was put back to an earlier end of itself is found by a kept end, and by nothing else', async (t) => {
  const trail = await sealedTrail(t)
  const earlier = await findMark(trail.db, 'head')
  await addEvents(trail, 3)
  const kept = await endOf(trail)
  await trail.db.run(REMOVE_EVENTS_AFTER, 5)
  await trail.db.run(REMOVE_LINKS_AFTER, 5)
  await trail.db.transaction((tx) => setMark(tx, 'head', earlier ?? assert.fail()))
  assert.equal((await trail.services.audit.verify()).problem, undefined)
  const cut = { eventId: undefined, position: 6, reason: 'the chain ends before the expected end at position 8' }
  assert.deepEqual(await compared(trail, kept), { problem: cut, containsExpected: undefined })
  // A restarted service continues the shorter chain past the position that was kept.
  await addEvents(trail, 4)
  assert.equal((await trail.services.audit.verify()).problem, undefined)
  const other = { eventId: undefined, position: 8, reason: 'the chain is not the one whose end is expected here' }
  assert.deepEqual(await compared(trail, kept), { problem: other, containsExpected: undefined })
})

test('a trail that was removed altogether is reported, also after the service has begun a new chain, until an operator accepts it', async (t) => {
  const trail = await sealedTrail(t, 120)
  const { db, clock, config, services } = trail
  for (const removal of REMOVE_EVERYTHING) await db.run(removal)
  const problem = { eventId: undefined, position: 1, reason: 'the events with ids up to 120 were removed, and with them the chain' }
  assert.deepEqual((await services.audit.verify()).problem, problem)
  await addEvents(trail, 2)
  const verified = await services.audit.verify()
  assert.deepEqual([verified.problem, verified.sealed], [problem, 0])
  const secrets = secretsOf(config)
  const changes = createChanges({ db, now: clock.now, followUps: () => createFollowUps({ secrets }), onEvent: () => undefined })
  assert.equal(await acceptTrail({ reads: readsOf(db), changes, secrets }, OPERATOR.origin), 2)
  for (const seal of [async () => undefined, sealerOf(trail).run]) {
    await seal()
    assert.equal((await services.audit.verify()).problem, undefined)
  }
})

test('a trail that was removed together with its ids is found by a kept end, and by nothing else', async (t) => {
  const trail = await sealedTrail(t, 120)
  const kept = await endOf(trail)
  for (const removal of REMOVE_EVERYTHING) await trail.db.run(removal)
  await trail.db.transaction((tx) => tx.all(RESET_IDS))
  assert.equal((await trail.services.audit.verify()).problem, undefined)
  const reason = 'the chain ends before the expected end at position 120'
  assert.deepEqual((await compared(trail, kept)).problem, { eventId: undefined, position: 1, reason })
})

test('a chain whose first events are removed after their retention during a verification is no alarm', async (t) => {
  const trail = await sealedTrail(t, 120)
  const { db, clock, config } = trail
  clock.advance({ days: 40 })
  await addEvents(trail, 1)
  // The events are removed after the walk along the chain, and before the ids are compared.
  let looks = 0
  const reads: Reads = {
    ...readsOf(db),
    async first(query, ...values) {
      if (query.sql.includes('max_unused') && ++looks === 2) await pruneEvents(db, secretsOf(config), 39, clock.now)
      return db.first(query, ...values)
    },
  }
  const { problem, sealed } = await verifyTrail(reads, createAuditSeals(secretsOf(config)))
  assert.deepEqual([problem, sealed, looks], [undefined, 121, 2])
  assert.equal((await trail.services.audit.verify()).pruned, 120)
})

test('the end of the chain is reported with the first seal, every hour, and at the stop', async (t) => {
  const service = await startApp(t)
  const reported: number[] = []
  const sealer = createSealer({
    db: service.db,
    secrets: secretsOf(service.config),
    now: service.clock.now,
    onFailure: (error) => assert.fail(String(error)),
    onHead: ({ position }) => reported.push(position),
  })
  await sealer.run()
  for (const advance of [0, 59, 1]) {
    service.clock.advance({ minutes: advance })
    await member(service)
    await sealer.run()
  }
  assert.deepEqual(reported, [1, 3])
  await sealer.stop()
  assert.deepEqual(reported, [1, 3])
  await member(service)
  await sealer.stop()
  assert.deepEqual(reported, [1, 3, 4])
})
