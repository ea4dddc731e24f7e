import assert from 'node:assert/strict'
import { acceptTrail } from '../../../src/domain/audit/resealing.ts'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { readsOf, statement } from '../../../src/storage/database.ts'
import { admin, member } from '../../support/app/actors.ts'
import { sealerOf, storedEvents } from '../../support/app/audit.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { login } from '../../support/http/requests.ts'

const ERASE_ERASURES = statement("update events set ip = null, detail = null, salt = null where kind = 'data.erased'")

test('address and details of the events of a user are erased, and the chain still verifies', async (t) => {
  const service = await startApp(t)
  const sealer = sealerOf(service)
  const { audit } = service.services
  const boss = await admin(service)
  const [mia, ada] = [await member(service), await member(service)]
  for (const { email } of [mia, ada]) await service.app.inject(login({ email }))
  await service.app.inject({ method: 'PUT', url: `/users/${mia.id}`, headers: mia.headers, payload: { first_name: 'Eva' } })
  await service.app.inject({ method: 'DELETE', url: `/users/${mia.id}`, headers: boss.headers })
  await sealer.run()
  const before = await storedEvents(service.db)
  const concerned = before.filter(({ target, actor }) => target === mia.id || actor === mia.id)
  assert.equal(await audit.erase(OPERATOR, mia.id), concerned.length)
  const after = await storedEvents(service.db)
  assert.deepEqual(
    after.slice(0, -1),
    before.map((event) => (concerned.includes(event) ? { ...event, ip: null, detail: null } : event)),
  )
  const [kind, target, detail] = [after.at(-1)?.kind, after.at(-1)?.target, after.at(-1)?.detail]
  assert.deepEqual([kind, target, JSON.parse(detail ?? '{}')], ['data.erased', mia.id, { count: concerned.length }])
  // Both before and after the event of the erasure is sealed.
  for (const run of [async () => undefined, sealer.run]) {
    await run()
    const { problem, erased } = await audit.verify()
    assert.deepEqual({ problem, erased }, { problem: undefined, erased: concerned.length })
  }
  for (const nothingLeft of [mia.id, 987_654]) assert.equal(await audit.erase(OPERATOR, nothingLeft), 0)
  assert.equal((await storedEvents(service.db)).length, after.length)
})

test('an erasure whose own event was erased is found, until an operator accepts it', async (t) => {
  const service = await startApp(t)
  const { db, clock, config } = service
  const sealer = sealerOf(service)
  const { audit } = service.services
  const mia = await member(service)
  await sealer.run()
  await audit.erase(OPERATOR, mia.id)
  await sealer.run()
  await db.run(ERASE_ERASURES)
  assert.deepEqual((await audit.verify()).problem, {
    eventId: 2,
    position: 2,
    reason: 'the address and the details were erased, which no command does to this event',
  })
  const secrets = secretsOf(config)
  const changes = createChanges({ db, now: clock.now, followUps: () => createFollowUps({ secrets }), onEvent: () => undefined })
  await acceptTrail({ reads: readsOf(db), changes, secrets }, OPERATOR.origin)
  await sealerOf(service).run()
  const { problem, erased } = await audit.verify()
  assert.deepEqual([problem, erased], [undefined, 2])
})
