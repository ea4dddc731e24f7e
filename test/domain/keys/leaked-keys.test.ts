import assert from 'node:assert/strict'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createLeakedKeys } from '../../../src/domain/keys/leaked-keys.service.ts'
import { type Reads, readsOf } from '../../../src/storage/database.ts'
import { keyHolder, member } from '../../support/app/actors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../support/http/origins.ts'

test('a report of a secret that a rotation has just ended disables nothing', async (t) => {
  const service = await startApp(t)
  const { app, db, clock, services } = service
  const holder = await keyHolder(service, await member(service))
  const reads = readsOf(db)
  let rotated: string | undefined
  // The rotation happens after the report has found the key, and before it changes anything.
  const overtaken: Reads = {
    ...reads,
    async first(statement, ...values) {
      const row = await reads.first(statement, ...values)
      rotated ??= (await services.apiKeys.rotate(OPERATOR, holder.id, holder.keyId)).secret
      return row
    },
  }
  const changes = createChanges({ db, now: clock.now, followUps: () => [], onEvent: () => assert.fail('something has changed') })
  const leakedKeys = createLeakedKeys({ reads: overtaken, changes, now: clock.now })
  assert.deepEqual(await leakedKeys.report(ORIGIN, [{ token: holder.key }]), [true])
  const response = await app.inject({ url: '/users/me', headers: { 'x-api-key': rotated ?? '' } })
  assert.equal(response.statusCode, 200)
})
