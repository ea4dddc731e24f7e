import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { readsOf, statement } from '../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../support/app/actors.ts'
import { secondApp, startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { injectPatiently } from '../../support/http/patience.ts'

test('a revocation during a change is acknowledged after the change, never before', async (t) => {
  const service = await startApp(t)
  const elsewhere = await secondApp(t, service)
  const boss = await admin(service)
  for (const path of ['/ban', '', '/keys']) {
    const caller = await keyHolder(service, await admin(service))
    const other = await member(service)
    const order: string[] = []
    const reached = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const { transaction } = service.db
    // Holds the change between the check of its caller and its commit.
    service.db.transaction = (work, options) =>
      transaction(async (tx) => {
        const result = await work(tx)
        reached.resolve()
        await gate.promise
        return result
      }, options)
    const change = service.app
      .inject({ method: 'POST', url: `/users/${other.id}/make-admin`, headers: caller.headers })
      .then(({ statusCode }) => order.push(`changed ${statusCode}`))
    await reached.promise
    service.db.transaction = transaction
    const revocation = elsewhere
      .inject({
        method: path === '/ban' ? 'POST' : 'DELETE',
        url: path === '/keys' ? `/users/keys/by-user/${caller.id}/${caller.keyId}` : `/users/${caller.id}${path}`,
        headers: boss.headers,
      })
      .then(({ statusCode }) => order.push(`revoked ${statusCode}`))
    // Without a lock, the revocation is acknowledged within this time. With a lock, it waits, and later requests are still served.
    await Promise.race([revocation, sleep(500)])
    assert.equal((await elsewhere.inject({ url: '/users/me', headers: boss.headers })).statusCode, 200)
    gate.resolve()
    await Promise.all([change, revocation])
    assert.deepEqual(order, ['changed 204', 'revoked 204'], path)
  }
})

test('a flood of changes by one user does not delay the writes of another', async (t) => {
  const service = await startApp(t)
  const [mia, ada] = [await member(service), await member(service)]
  const creation = (headers: Readonly<Record<string, string>>) =>
    ({ method: 'POST', url: '/users/keys', headers, payload: { name: 'key' } }) as const
  let done = 0
  const flood = Promise.all(
    Array.from({ length: 60 }, async () => {
      const { statusCode } = await injectPatiently(service.app, creation(mia.headers))
      done++
      return statusCode
    }),
  )
  assert.equal((await service.app.inject(creation(ada.headers))).statusCode, 200)
  const doneBefore = done
  assert.deepEqual(new Set(await flood), new Set([200]))
  if (t.database === 'postgres') assert.ok(doneBefore < 30, `${doneBefore} of 60 changes of the flood finished first`)
})

test('readsOf() returns a database that rejects statements that write', async (t) => {
  const { db } = await startApp(t)
  const write = statement('update users set banned = true returning id')
  const rejected = { message: /^not a read/ }
  const reads = readsOf(db)
  assert.throws(() => reads.first(write), rejected)
  assert.throws(() => reads.all(write), rejected)
})
