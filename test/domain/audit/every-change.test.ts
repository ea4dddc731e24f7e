import assert from 'node:assert/strict'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import { ensureAdmin } from '../../../src/domain/sign-in/first-admin.service.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { admin, member } from '../../support/app/actors.ts'
import { storedEvents, storedKinds } from '../../support/app/audit.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

test('an account that is deleted in several transactions leaves an event with each of them', async (t) => {
  const service = await startApp(t)
  const { app, db, services } = service
  const [boss, mia] = [await admin(service), await member(service)]
  for (let n = 0; n < 150; n++)
    assert.equal((await app.inject({ method: 'POST', url: '/users/keys', headers: mia.headers, payload: { name: 'key' } })).statusCode, 200)
  const before = (await storedEvents(db)).length
  await assert.rejects(
    services.userAdministration.remove(OPERATOR, mia.id, () => {
      throw new Error('the process ends here')
    }),
    { message: 'the process ends here' },
  )
  const [interrupted, ...others] = (await storedEvents(db)).slice(before)
  assert.deepEqual([interrupted?.kind, interrupted?.target, interrupted?.detail], ['key.revoked', mia.id, '{"count":100}'])
  assert.deepEqual(
    others.map(({ kind }) => kind),
    ['session.revoked'],
  )
  assert.equal((await app.inject({ method: 'DELETE', url: `/users/${mia.id}`, headers: boss.headers })).statusCode, 204)
  assert.equal((await storedKinds(db)).at(-1), `user.deleted ${mia.id}`)
})

test('ADMIN_EMAIL leaves the events of what it changes: a new role, a verification, or nothing', async (t) => {
  const service = await startApp(t)
  const { db, clock, config } = service
  const followUps = () => createFollowUps({ secrets: secretsOf(config), securityNotices: false })
  const changes = createChanges({ db, now: clock.now, followUps, onEvent: () => undefined })
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const mia = await member(service, { verified: false })
  const ada = await admin(service)
  const before = (await storedEvents(db)).length
  for (const { email } of [mia, mia, ada])
    await ensureAdmin({ changes, passwords, now: clock.now }, OPERATOR, { email, password: 'correct horse' })
  assert.deepEqual((await storedKinds(db)).slice(before), [`user.promoted ${mia.id}`, `user.verified ${mia.id}`])
})

test('a rotation of the signing key leaves an event', async (t) => {
  const { db, services } = await startApp(t)
  await services.signingKeys.maintain({ via: 'start' })
  const before = (await storedEvents(db)).length
  await services.signingKeys.rotate(OPERATOR.origin)
  const [rotated, ...others] = (await storedEvents(db)).slice(before)
  assert.deepEqual([rotated?.kind, rotated?.via, rotated?.detail, others], ['secret.rotated', 'cli', '{"changed":["signing_key"]}', []])
})
