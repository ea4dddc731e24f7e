import assert from 'node:assert/strict'
import { pruneEvents } from '../../../src/domain/audit/retention.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { sealerOf, storedEvents } from '../../support/app/audit.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const MAKE_OLD = statement('update events set at = 1 where id = 4')
const SEAL_EARLIER = statement('update event_seals set sealed_at = 1 where position = 4')
const REMOVE_ANCHOR = statement("delete from audit_marks where name = 'anchor'")

/** Three events that are 40 days old, and three new ones, all of them sealed. */
async function agedTrail(t: ContractContext) {
  const service = await startApp(t)
  const sealer = sealerOf(service)
  for (let n = 0; n < 3; n++) await member(service)
  await sealer.run()
  service.clock.advance({ days: 40 })
  for (let n = 0; n < 3; n++) await member(service)
  await sealer.run()
  return { ...service, sealer }
}

function prune({ db, config, clock }: TestApp, days: number): Promise<void> {
  return pruneEvents(db, secretsOf(config), days, clock.now)
}

test('events are removed after their retention, and the rest still verifies', async (t) => {
  const trail = await agedTrail(t)
  for (const days of [0, 41]) {
    await prune(trail, days)
    assert.equal((await storedEvents(trail.db)).length, 6)
  }
  await prune(trail, 39)
  assert.deepEqual(
    (await storedEvents(trail.db)).map(({ id }) => id),
    [4, 5, 6],
  )
  const verified = await trail.services.audit.verify()
  assert.deepEqual([verified.problem, verified.sealed, verified.pruned], [undefined, 3, 3])
  await member(trail)
  await trail.sealer.run()
  trail.clock.advance({ days: 365 })
  await prune(trail, 39)
  const empty = await trail.services.audit.verify()
  assert.deepEqual([empty.problem, empty.sealed, empty.pruned], [undefined, 0, 7])
})

test('more events than a batch are removed, and unsealed ones are not', async (t) => {
  const service = await startApp(t)
  const sealer = sealerOf(service)
  const { services, clock } = service
  const { id } = await member(service)
  for (let n = 0; n < 600; n++)
    await (n % 2 === 0 ? services.userAdministration.ban(OPERATOR, id) : services.userAdministration.unban(OPERATOR, id))
  await sealer.run()
  await member(service)
  clock.advance({ days: 40 })
  await prune(service, 39)
  assert.equal((await storedEvents(service.db)).length, 1)
  const { problem, unsealed, pruned } = await services.audit.verify()
  assert.deepEqual({ problem, unsealed, pruned }, { problem: undefined, unsealed: 1, pruned: 601 })
})

test('an event that was made to look old is not removed, and is still found', async (t) => {
  const trail = await agedTrail(t)
  await trail.db.run(MAKE_OLD)
  await prune(trail, 39)
  assert.equal((await storedEvents(trail.db)).length, 3)
  await trail.db.run(SEAL_EARLIER)
  await assert.rejects(prune(trail, 39), { name: 'BrokenChain', message: /event 4 is not removed/ })
  assert.equal((await storedEvents(trail.db)).length, 3)
  assert.equal((await trail.services.audit.verify()).problem?.eventId, 4)
})

test('a verification finds a removed record of the beginning', async (t) => {
  const trail = await agedTrail(t)
  await prune(trail, 39)
  await trail.db.run(REMOVE_ANCHOR)
  const reason = 'the event at this position was removed with its link'
  assert.deepEqual((await trail.services.audit.verify()).problem, { eventId: undefined, position: 1, reason })
})
