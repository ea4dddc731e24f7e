import assert from 'node:assert/strict'
import { statement } from '../../../src/storage/database.ts'
import { admin, member } from '../../support/app/actors.ts'
import { sealerOf, storedEvents } from '../../support/app/audit.ts'
import { enrol, WITH_PASSKEYS } from '../../support/app/factors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { login } from '../../support/http/requests.ts'

const ROWS = statement<{ user_id: number }>(`
  select user_id from totp_secrets union all select user_id from recovery_codes union all select user_id from passkeys
  union all select user_id from login_challenges`)

test('a deleted account leaves no second factor and no open challenge behind, and an erasure no detail of its events', async (t) => {
  const service = await startApp(t, { env: { ...WITH_PASSKEYS, SELF_DELETION: 'true' } })
  const { app, db, services } = service
  const boss = await admin(service)
  const [mia, eve] = [await member(service), await member(service)]
  for (const account of [mia, eve]) await enrol(service, account)
  for (const account of [mia, eve]) assert.equal((await app.inject(login(account))).statusCode, 401)
  const owners = async () => new Set((await db.all(ROWS)).map(({ user_id }) => Number(user_id)))
  assert.deepEqual(await owners(), new Set([mia.id, eve.id]))
  assert.equal((await app.inject({ method: 'DELETE', url: `/users/${mia.id}`, headers: boss.headers })).statusCode, 204)
  const left = { method: 'DELETE', url: '/users/me', headers: eve.headers, payload: { password: eve.password } } as const
  assert.equal((await app.inject(left)).statusCode, 204)
  assert.deepEqual(await owners(), new Set())
  await sealerOf(service).run()
  await services.audit.erase(OPERATOR, mia.id)
  const factorEvents = (await storedEvents(db)).filter(({ kind, target }) => /^(factor|passkey)/.test(kind) && target === mia.id)
  assert.ok(factorEvents.length >= 2)
  for (const { ip, detail } of factorEvents) assert.deepEqual([ip, detail], [null, null])
})
