import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import postgres from 'postgres'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { statement } from '../../../src/storage/database.ts'
import { type Actor, admin, keyHolder, member } from '../../support/app/actors.ts'
import { refused } from '../../support/app/assertions.ts'
import { eventually } from '../../support/app/eventually.ts'
import { secondApp, startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { actorOf, OPERATOR } from '../../support/http/origins.ts'

const COUNT_ACTIVE_ADMINS = statement<{ count: number }>(`
  select count(*) as count from users where role = 'admin' and banned = false and verified = true`)

const remove = ({ headers }: Actor, { id }: Actor): InjectOptions => ({ method: 'DELETE', url: `/users/${id}`, headers })
const ban = ({ headers }: Actor, { id }: Actor): InjectOptions => ({ method: 'POST', url: `/users/${id}/ban`, headers })

async function countActiveAdmins({ db }: TestApp): Promise<number | undefined> {
  return (await db.first(COUNT_ACTIVE_ADMINS))?.count
}

/** Two requests of two admins at the same moment. */
const CLASHES: Record<string, (ada: Actor, bob: Actor) => [InjectOptions, InjectOptions]> = {
  'delete each other': (ada, bob) => [remove(ada, bob), remove(bob, ada)],
  'ban each other': (ada, bob) => [ban(ada, bob), ban(bob, ada)],
  'delete and ban each other': (ada, bob) => [remove(ada, bob), ban(bob, ada)],
  'delete themselves': (ada, bob) => [remove(ada, ada), remove(bob, bob)],
}

/** Locks the rows of all admins, so that every change to one waits until the lock is released. */
async function holdAdmins(
  t: TestContext,
  { config }: TestApp,
): Promise<{ untilWaiting(count: number): Promise<true>; release(): Promise<void> }> {
  if (config.database.kind !== 'postgres') throw new Error('only PostgreSQL has row locks')
  const sql = postgres(config.database.url, { max: 2, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 0 }))
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = sql.begin(async (tx) => {
    await tx`select id from users where role = 'admin' for update`
    held.resolve()
    await released.promise
  })
  await held.promise
  return {
    untilWaiting: (count) =>
      eventually(`${count} transactions waiting for a lock`, async () => {
        const waiting = await sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return waiting.length >= count || undefined
      }),
    async release() {
      released.resolve()
      await holding
    },
  }
}

for (const [title, clash] of Object.entries(CLASHES)) {
  nodeTest(`two admins who ${title} at the same moment, in two processes, leave one active admin`, async (t) => {
    const service = await startApp(t, { database: 'postgres' })
    const other = await secondApp(t, service)
    const ada = await admin(service)
    const bob = await admin(service)
    const [first, second] = clash(ada, bob)
    const hold = await holdAdmins(t, service)
    const responses = [inject(service.app, first), inject(other, second)]
    await hold.untilWaiting(2)
    await hold.release()
    const statuses = (await Promise.all(responses)).map(({ statusCode }) => statusCode).sort()
    assert.deepEqual(statuses, title === 'delete themselves' ? [204, 400] : [204, 401])
    assert.equal(await countActiveAdmins(service), 1)
  })
}

/** Sends a request at once. inject() alone sends it only when its result is awaited. */
function inject(app: App, request: InjectOptions): Promise<LightMyRequestResponse> {
  return app.inject(request).then((response) => response)
}

test('ten admins who all delete or ban each other leave one active admin', async (t) => {
  const service = await startApp(t)
  const apps = [service.app, await secondApp(t, service)]
  const admins = await Promise.all(Array.from({ length: 10 }, () => admin(service)))
  const requests = admins.flatMap((actor, a) =>
    admins.flatMap((target, b) => (a === b ? [] : [(a + b) % 2 ? ban(actor, target) : remove(actor, target)])),
  )
  await Promise.all(requests.map((request, n) => inject(apps[n % 2] ?? service.app, request)))
  // Writes of another process are visible from the next turn of the event loop on.
  await nextTurn()
  assert.equal(await countActiveAdmins(service), 1)
})

test('a ban, an unban, a promotion and a deletion apply to the next request in another process', async (t) => {
  const service = await startApp(t)
  const other = await secondApp(t, service)
  const boss = await admin(service)
  const mia = await member(service)
  const holder = await keyHolder(service, mia)
  // A real connection, so that each request arrives in a new turn of the event loop, as in another process.
  const address = await other.listen({ port: 0 })
  const statusOf = async (path: string, { headers }: Actor) => (await fetch(address + path, { headers })).status
  const statuses = () => Promise.all([statusOf('/users/me', mia), statusOf('/users/me', holder)])
  const succeed = async (request: InjectOptions) => assert.equal((await service.app.inject(request)).statusCode, 204)

  assert.deepEqual(await statuses(), [200, 200])
  await succeed(ban(boss, mia))
  assert.deepEqual(await statuses(), [401, 401])
  await succeed({ method: 'POST', url: `/users/${mia.id}/unban`, headers: boss.headers })
  assert.deepEqual(await statuses(), [200, 200])
  await succeed({ method: 'DELETE', url: `/users/keys/${holder.keyId}`, headers: mia.headers })
  assert.deepEqual(await statuses(), [200, 401])
  await succeed({ method: 'POST', url: `/users/${mia.id}/make-admin`, headers: boss.headers })
  assert.equal(await statusOf('/users/', mia), 200)
  await succeed(remove(boss, mia))
  assert.deepEqual(await statuses(), [401, 401])
})

test('401: somebody whose account is no longer verified after authentication changes nothing, with a token or a key', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { userAdministration, authentication, apiKeys } = service.services
  const holder = await keyHolder(service, mia)
  const callers = [await authentication.byToken(mia.token), await authentication.byKey(holder.key)]
  await userAdministration.edit(OPERATOR, mia.id, { ...mia, verified: false })
  const codes = ['token_invalid', 'key_invalid']
  for (const [n, caller] of callers.entries())
    await assert.rejects(apiKeys.create(actorOf(caller), mia.id, { name: 'kept', scopes: [] }), { code: codes[n] })
})

test('401, 403: an admin who is banned or demoted after authentication changes nothing, with a token or a key', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  const { userAdministration, authentication } = service.services
  const holder = await keyHolder(service, boss)
  const callers = [await authentication.byToken(boss.token), await authentication.byKey(holder.key)]
  await admin(service)
  await userAdministration.ban(OPERATOR, boss.id)
  const codes = ['token_invalid', 'key_invalid']
  for (const [n, caller] of callers.entries()) {
    await assert.rejects(userAdministration.ban(actorOf(caller), mia.id), { code: codes[n] })
    await assert.rejects(userAdministration.remove(actorOf(caller), mia.id), { code: codes[n] })
  }
  await userAdministration.unban(OPERATOR, boss.id)
  await userAdministration.revokeAdmin(OPERATOR, boss.id)
  for (const caller of callers) await assert.rejects(userAdministration.remove(actorOf(caller), mia.id), { code: 'not_permitted' })
  refused(await service.app.inject({ url: '/users/', headers: boss.headers }), 403, 'Not enough permissions')
  assert.equal((await service.app.inject({ url: '/users/me', headers: mia.headers })).statusCode, 200)
})
