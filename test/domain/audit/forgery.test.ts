import assert from 'node:assert/strict'
import { createSealer } from '../../../src/domain/audit/sealer.ts'
import { verifyTrail } from '../../../src/domain/audit/verification.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createAuditSeals, linkHash } from '../../../src/security/audit-seals.ts'
import { type Reads, readsOf, statement } from '../../../src/storage/database.ts'
import { listLinks } from '../../../src/storage/repositories/audit/event-seal.repository.ts'
import { admin, member } from '../../support/app/actors.ts'
import { sealerOf } from '../../support/app/audit.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const OTHER_SECRET = new TextEncoder().encode('fK5pX8wQ2vB7nM4jH1tR6yU3eG9sD0aL')
const COPY_FIFTH = statement(`
  insert into events (at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key)
  select at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key from events where id = 5`)
const OTHER_COLUMNS = 'at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key'
const RENUMBER_FIFTH = [
  statement({
    postgres: `insert into events (id, ${OTHER_COLUMNS}) overriding system value select 1000, ${OTHER_COLUMNS} from events where id = 5`,
    sqlite: `insert into events (id, ${OTHER_COLUMNS}) select 1000, ${OTHER_COLUMNS} from events where id = 5`,
  }),
  statement('delete from events where id = 5'),
  statement('update event_seals set event_id = 1000 where event_id = 5'),
]
const HIDE_ORIGINAL = statement("update events set mac = 'hidden' where id = 5")
const CHANGE_FIFTH = statement("update events set kind = 'user.verified' where id = 5")
const CHANGE_ELEVENTH = statement("update events set kind = 'user.verified' where id = 11")
const RENAME_KEY = statement('update events set mac_key = $1 where id = 5')
const RELINK = statement("update event_seals set hash = $2, mac_key = 'unknown' where position = $1")
const NOT_OURS = 'the link was not made with SECRET_KEY'

async function sealedTrail(t: ContractContext) {
  const service = await startApp(t)
  const sealer = sealerOf(service)
  const [boss, mia] = [await admin(service), await member(service)]
  for (const path of ['ban', 'unban', 'ban', 'unban', 'ban', 'unban', 'ban', 'unban'])
    await service.app.inject({ method: 'POST', url: `/users/${mia.id}/${path}`, headers: boss.headers })
  await sealer.run()
  return { ...service, sealer, boss, mia }
}

/** Links the events again from a position on, under the name of a secret that nobody knows, and leaves the record of the end alone. */
async function rebuildFrom({ db }: TestApp, first: number): Promise<void> {
  const links = await listLinks(db, 0, 100)
  let { hash } = links[first - 2]?.seal ?? assert.fail()
  for (const { seal, event } of links.slice(first - 1)) {
    hash = linkHash(hash, seal, event ?? assert.fail())
    await db.run(RELINK, seal.position, hash)
  }
}

test('a copy of a sealed event is not sealed, even if the original no longer looks like it', async (t) => {
  const { db, sealer, services } = await sealedTrail(t)
  await db.run(COPY_FIFTH)
  await db.run(HIDE_ORIGINAL)
  await sealer.run()
  assert.deepEqual((await services.audit.verify()).problem, { eventId: 5, position: 5, reason: 'the event or its link was changed' })
})

test('an event that was given another id is found, and is not taken for a removed one', async (t) => {
  const { db, services } = await sealedTrail(t)
  for (const step of RENUMBER_FIFTH) await db.run(step)
  assert.deepEqual((await services.audit.verify()).problem, { eventId: 1000, position: 5, reason: 'the event or its link was changed' })
})

test('the hash of a link depends on every event before it', async (t) => {
  const trail = await sealedTrail(t)
  const [, , , , fifth, sixth] = await listLinks(trail.db, 0, 6)
  assert.ok(fifth?.event && sixth?.event)
  const changed = linkHash('another hash', fifth.seal, fifth.event)
  assert.notEqual(changed, fifth.seal.hash)
  assert.equal(linkHash(fifth.seal.hash, sixth.seal, sixth.event), sixth.seal.hash)
  assert.notEqual(linkHash(changed, sixth.seal, sixth.event), sixth.seal.hash)
})

test('a chain that was rebuilt from an event on is reported at that event, before and after more is sealed', async (t) => {
  const trail = await sealedTrail(t)
  await trail.db.run(CHANGE_FIFTH)
  await rebuildFrom(trail, 5)
  assert.deepEqual((await trail.services.audit.verify()).problem, { eventId: 5, position: 5, reason: NOT_OURS })
  await member(trail)
  await trail.sealer.run()
  assert.deepEqual((await trail.services.audit.verify()).problem, { eventId: 5, position: 5, reason: NOT_OURS })
})

test('a changed event at which a new secret begins is reported at that event', async (t) => {
  const trail = await sealedTrail(t)
  const { db, clock } = trail
  const [former] = secretsOf(trail.config)
  const next = createSealer({ db, secrets: [OTHER_SECRET, former], now: clock.now, onFailure: (error) => assert.fail(String(error)) })
  await member(trail)
  await next.run()
  await db.run(CHANGE_ELEVENTH)
  const { problem } = await verifyTrail(readsOf(db), createAuditSeals([OTHER_SECRET]))
  assert.equal(problem?.position, 11)
})

test('an erasure that is sealed during a verification is no alarm', async (t) => {
  const { db, config, sealer, services, mia } = await sealedTrail(t)
  await services.audit.erase(OPERATOR, mia.id)
  // The event of the erasure is sealed between the walk along the chain and the look at unsealed events.
  let wasSealed = false
  const reads: Reads = {
    ...readsOf(db),
    async first(query, ...values) {
      if (query.sql.includes('as following') && !wasSealed) {
        wasSealed = true
        await sealer.run()
      }
      return db.first(query, ...values)
    },
  }
  const { problem, erased } = await verifyTrail(reads, createAuditSeals(secretsOf(config)))
  assert.deepEqual([problem, erased, wasSealed], [undefined, 9, true])
})

test('a sealed event that names another key than it was written with is found', async (t) => {
  const { db, config } = await sealedTrail(t)
  const { currentKey } = createAuditSeals([OTHER_SECRET])
  await db.run(RENAME_KEY, currentKey)
  const { problem } = await verifyTrail(readsOf(db), createAuditSeals([...secretsOf(config), OTHER_SECRET]))
  assert.deepEqual(problem, { eventId: 5, position: 5, reason: 'the name of the key of the event was changed' })
})
