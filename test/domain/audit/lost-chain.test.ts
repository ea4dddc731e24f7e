import assert from 'node:assert/strict'
import { acceptTrail } from '../../../src/domain/audit/resealing.ts'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { readsOf, statement } from '../../../src/storage/database.ts'
import { type Actor, admin, member } from '../../support/app/actors.ts'
import { sealerOf, storedEvents } from '../../support/app/audit.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const REMOVE_CHAIN = ['event_seals', 'audit_marks'].map((table) => statement(`delete from ${table}`))
const REMOVE_TWO = statement('delete from events where id in (2, 3)')
const FORGE_RESEALING = statement(`
  insert into events (at, kind, via, salt, mac, mac_key) select $1, 'audit.resealed', via, salt, mac, mac_key from events where id = 1`)
const REMOVE_FORGERY = statement("delete from events where kind = 'audit.resealed'")
const REASON = 'the service wrote other events more than a minute after this one, and there is no chain: it was removed'

/** A change over HTTP. */
async function change({ app }: TestApp, by: Actor, { id }: Actor, path: string): Promise<void> {
  assert.equal((await app.inject({ method: 'POST', url: `/users/${id}/${path}`, headers: by.headers })).statusCode, 204)
}

test('a removed chain is found, and its events are not sealed again until an operator accepts them', async (t) => {
  const service = await startApp(t)
  const { db, clock, config, services } = service
  const [boss, mia] = [await admin(service), await member(service)]
  for (const path of ['ban', 'unban', 'ban', 'unban']) {
    await change(service, boss, mia, path)
    await sealerOf(service).run()
    clock.advance({ minutes: 2 })
  }
  for (const removal of [...REMOVE_CHAIN, REMOVE_TWO]) await db.run(removal)
  clock.advance({ minutes: 2 })
  const requireFound = async (eventId: number) => {
    assert.deepEqual((await services.audit.verify()).problem, { eventId, position: undefined, reason: REASON })
    // A new sealer, as after a restart.
    await assert.rejects(sealerOf(service).run(), { name: 'BrokenChain', message: /there is no chain: it was removed/ })
  }
  await requireFound(4)
  await db.run(FORGE_RESEALING, clock.now())
  await assert.rejects(sealerOf(service).run(), { name: 'BrokenChain' })
  await db.run(REMOVE_FORGERY)

  const secrets = secretsOf(config)
  const changes = createChanges({ db, now: clock.now, followUps: () => createFollowUps({ secrets }), onEvent: () => undefined })
  assert.equal(await acceptTrail({ reads: readsOf(db), changes, secrets }, OPERATOR.origin), 4)
  await sealerOf(service).run()
  const { problem, sealed, unsealed } = await services.audit.verify()
  assert.deepEqual([problem, sealed, unsealed], [undefined, 5, 0])

  // What was accepted once does not cover later events.
  clock.advance({ minutes: 1 })
  for (const path of ['ban', 'unban']) {
    await change(service, boss, mia, path)
    await sealerOf(service).run()
    clock.advance({ minutes: 2 })
  }
  for (const removal of REMOVE_CHAIN) await db.run(removal)
  await requireFound((await storedEvents(db)).at(-2)?.id ?? assert.fail())
})

/** The events are in order before a sealer has seen them, and all of them are sealed afterwards. */
async function requireInOrder(service: TestApp): Promise<void> {
  const { audit } = service.services
  const before = await audit.verify()
  assert.equal(before.problem, undefined)
  await sealerOf(service).run()
  const { problem, sealed, unsealed } = await audit.verify()
  assert.deepEqual([problem, sealed, unsealed], [undefined, before.unsealed, 0])
}

test('events of commands before the first start of the service are in order, and are sealed by it', async (t) => {
  const service = await startApp(t)
  const { clock, services } = service
  await services.signingKeys.maintain({ via: 'start' })
  await services.signingKeys.rotate(OPERATOR.origin)
  clock.advance({ days: 3 })
  await requireInOrder(service)
})

test('a first event that a crash has left unsealed is in order days later, and is sealed by the next start', async (t) => {
  const service = await startApp(t)
  const [boss, mia] = [await admin(service), await member(service)]
  await change(service, boss, mia, 'ban')
  service.clock.advance({ days: 3 })
  await requireInOrder(service)
})

test('events that a crash has left unsealed are in order days later, if there is a chain', async (t) => {
  const service = await startApp(t)
  const { clock, services } = service
  const [boss, mia] = [await admin(service), await member(service)]
  await sealerOf(service).run()
  await change(service, boss, mia, 'ban')
  clock.advance({ days: 3 })
  assert.deepEqual((await services.audit.verify()).problem, undefined)
  await sealerOf(service).run()
  const { problem, sealed, late } = await services.audit.verify()
  assert.deepEqual([problem, sealed, late], [undefined, 3, 1])
})
