import assert from 'node:assert/strict'
import { createHousekeeping } from '../../src/domain/housekeeping.ts'
import { statement } from '../../src/storage/database.ts'
import { insertSession } from '../../src/storage/repositories/session.repository.ts'
import { member } from '../support/app/actors.ts'
import { startApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'

const SESSION_IDS = statement<{ id: string }>('select id from sessions order by id')

test('housekeeping deletes every expired session, however many there are, and no other', async (t) => {
  const service = await startApp(t)
  const now = service.clock.now()
  const mia = await member(service)
  await service.db.transaction(async (tx) => {
    for (let count = 0; count < 1234; count++) await insertSession(tx, { id: `old-${count}`, userId: mia.id, createdAt: 0, expiresAt: now })
    await insertSession(tx, { id: 'current', userId: mia.id, createdAt: now, expiresAt: now + 1 })
  })
  await createHousekeeping(service.db, service.clock.now, (error) => assert.fail(String(error))).run()
  const left = (await service.db.all(SESSION_IDS)).map(({ id }) => id)
  assert.equal(left.length, 2)
  assert.ok(left.includes('current'))
})
