import assert from 'node:assert/strict'
import { examine } from '../../../src/doctor/examine.ts'
import { pruneEvents } from '../../../src/domain/audit/retention.ts'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createSecretUse } from '../../../src/domain/operations/secret-use.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { readsOf, statement } from '../../../src/storage/database.ts'
import { findOldestUnsealed } from '../../../src/storage/repositories/audit/event-seal.repository.ts'
import { member } from '../../support/app/actors.ts'
import { sealerOf } from '../../support/app/audit.ts'
import { startApp, TEST_SECRET, type TestApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'
import { problems } from '../../support/processes/doctor.ts'

const HUGE_ID = 8_000_000_000_000_000
const FORGE_EVENT = statement(`
  insert into events (at, kind, actor, via, target, ip, detail, salt, mac, mac_key)
  values (1, 'user.promoted', 2, 'http', 3, '6.6.6.6', '{"forged":true}', 'x', 'aaaa', 'zzzzzzzz')`)
const FORGED_COLUMNS = '(id, at, kind, via, salt, mac, mac_key)'
const FORGED_VALUES = "values ($1, 1, 'user.promoted', 'http', 'x', 'aaaa', 'zzzzzzzz')"
const FORGE_EVENT_WITH_ID = statement({
  postgres: `insert into events ${FORGED_COLUMNS} overriding system value ${FORGED_VALUES}`,
  sqlite: `insert into events ${FORGED_COLUMNS} ${FORGED_VALUES}`,
})
const FORGE_LINK = statement(`
  insert into event_seals (position, event_id, sealed_at, digest, hash, mac, mac_key) values ($1, $2, 1, 'd', 'h', 'm', 'k')`)
const LAST_ID = statement<{ id: number }>('select max(id) as id from events')
const OTHER_COLUMNS = 'at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key'
const RENUMBER_LAST = [
  statement({
    postgres: `insert into events (id, ${OTHER_COLUMNS}) overriding system value
     select ${HUGE_ID}, ${OTHER_COLUMNS} from events where id = (select max(id) from events)`,
    sqlite: `insert into events (id, ${OTHER_COLUMNS}) select ${HUGE_ID}, ${OTHER_COLUMNS} from events where id = (select max(id) from events)`,
  }),
  statement(`delete from events where id = (select max(id) from events where id < ${HUGE_ID})`),
]
const OUTSIDE = 'the link was added outside of the chain'

/** A service whose trail has this many sealed events. */
async function sealedTrail(t: ContractContext, count = 3) {
  const service = await startApp(t)
  const sealer = sealerOf(service)
  for (let n = 0; n < count; n++) await member(service)
  await sealer.run()
  return { ...service, sealer }
}

async function lastId({ db }: TestApp): Promise<number> {
  return (await db.first(LAST_ID))?.id ?? assert.fail()
}

async function unsealedSince({ db }: TestApp): Promise<number | undefined> {
  return findOldestUnsealed(readsOf(db))
}

for (const position of [0, -1])
  test(`a verification finds a forged event with a link at position ${position}`, async (t) => {
    const trail = await sealedTrail(t)
    await trail.db.run(FORGE_EVENT)
    const eventId = await lastId(trail)
    await trail.db.run(FORGE_LINK, position, eventId)
    const problem = { eventId, position, reason: OUTSIDE }
    assert.deepEqual((await trail.services.audit.verify()).problem, problem)
    // The service does not continue the chain, and reports why.
    await member(trail)
    await assert.rejects(trail.sealer.run(), { name: 'BrokenChain', message: /was added outside of the chain/ })
    assert.deepEqual((await trail.services.audit.verify()).problem, problem)
  })

test('a verification finds a forged event with a link among those that were removed after their retention', async (t) => {
  const trail = await sealedTrail(t)
  const { db, config, clock } = trail
  clock.advance({ days: 40 })
  await member(trail)
  await trail.sealer.run()
  await pruneEvents(db, secretsOf(config), 39, clock.now)
  assert.equal((await trail.services.audit.verify()).problem, undefined)
  await db.run(FORGE_EVENT)
  const eventId = await lastId(trail)
  await db.run(FORGE_LINK, 2, eventId)
  assert.deepEqual((await trail.services.audit.verify()).problem, { eventId, position: 2, reason: OUTSIDE })
})

test('a verification finds a link with a gap after the end of the chain', async (t) => {
  const trail = await sealedTrail(t)
  await trail.db.run(FORGE_EVENT)
  await trail.db.run(FORGE_LINK, 1000, await lastId(trail))
  assert.equal((await trail.services.audit.verify()).problem?.position, 4)
  await member(trail)
  await assert.rejects(trail.sealer.run(), { name: 'BrokenChain', message: /was added outside of the chain/ })
})

test('a link with a huge event id does not hide that nothing is sealed any more', async (t) => {
  const trail = await sealedTrail(t)
  const { db, clock, config } = trail
  await db.run(FORGE_LINK, -2, HUGE_ID)
  const { now } = clock
  const changes = createChanges({ db, now, followUps: () => [], onEvent: () => undefined })
  await createSecretUse({ changes, now, secrets: secretsOf(config), onFailure: (error) => assert.fail(String(error)) }).run()
  await member(trail)
  await assert.rejects(trail.sealer.run(), { name: 'BrokenChain', message: /the link at position -2 was added outside of the chain/ })
  assert.equal(await unsealedSince(trail), clock.now())
  assert.deepEqual((await trail.services.audit.verify()).problem, { eventId: HUGE_ID, position: -2, reason: OUTSIDE })
  clock.advance({ minutes: 2 })
  const database = config.database.kind === 'sqlite' ? `sqlite:${config.database.file}` : config.database.url
  const findings = await examine({ DATABASE_URL: database, SECRET_KEY: TEST_SECRET, PORT: '0' }, { now: clock.now })
  assert.match(problems(findings, 'audit').join(), /^error: new events have not been sealed since \S+Z$/)
})

test('events are sealed after one that was given a huge id before it was sealed', async (t) => {
  const trail = await sealedTrail(t)
  await member(trail)
  for (const step of RENUMBER_LAST) await trail.db.run(step)
  await trail.sealer.run()
  await member(trail)
  assert.equal(await unsealedSince(trail), trail.clock.now())
  await trail.sealer.run()
  assert.equal(await unsealedSince(trail), undefined)
  const { sealed, unsealed } = await trail.services.audit.verify()
  assert.deepEqual([sealed, unsealed], [5, 0])
})

for (const id of [9_000_000_000_000_000, -7])
  test(`a verification finds an inserted event with the id ${id}, and ends`, async (t) => {
    const trail = await sealedTrail(t)
    await trail.db.run(FORGE_EVENT_WITH_ID, id)
    const { problem } = await trail.services.audit.verify({ signal: AbortSignal.timeout(60_000) })
    assert.deepEqual(problem, {
      eventId: id,
      position: undefined,
      reason: 'the event was written with a secret that is neither SECRET_KEY nor one of its fallbacks',
    })
  })
