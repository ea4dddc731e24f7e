import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import postgres from 'postgres'
import type { App } from '../../../src/http/pipeline/app-type.ts'
import { statement } from '../../../src/storage/database.ts'
import { type Actor, admin, keyHolder, member } from '../../support/app/actors.ts'
import { refused } from '../../support/app/assertions.ts'
import { eventually } from '../../support/app/eventually.ts'
import { actorOf, OPERATOR } from '../../support/app/origins.ts'
import { secondApp } from '../../support/app/second-app.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const COUNT_ABLE_ADMINS = statement<{ count: number }>(`
  select count(*) as count from users where role = 'admin' and banned = false and verified = true`)

const remove = ({ headers }: Actor, { id }: Actor): InjectOptions => ({ method: 'DELETE', url: `/users/${id}`, headers })
const ban = ({ headers }: Actor, { id }: Actor): InjectOptions => ({ method: 'POST', url: `/users/${id}/ban`, headers })

async function countAbleAdmins({ db }: TestApp): Promise<number | undefined> {
  return (await db.first(COUNT_ABLE_ADMINS))?.count
}

/** What two admins do to each other, or to themselves, at the same moment. */
const CLASHES: Record<string, (ada: Actor, bob: Actor) => [InjectOptions, InjectOptions]> = {
  'delete each other': (ada, bob) => [remove(ada, bob), remove(bob, ada)],
  'ban each other': (ada, bob) => [ban(ada, bob), ban(bob, ada)],
  'delete and ban each other': (ada, bob) => [remove(ada, bob), ban(bob, ada)],
  'delete themselves': (ada, bob) => [remove(ada, ada), remove(bob, bob)],
}

/** Holds the rows of all admins, so that whoever changes one waits, until all who will have come. */
async function holdAdmins(
  t: TestContext,
  { config }: TestApp,
): Promise<{ untilWaiting(count: number): Promise<true>; release(): Promise<void> }> {
  if (config.database.kind !== 'postgres') throw new Error('rows are held in PostgreSQL alone')
  const sql = postgres(config.database.url, { max: 2, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 0 }))
  let letGo = () => {}
  const letGone = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const held = Promise.withResolvers<void>()
  const holding = sql.begin(async (tx) => {
    await tx`select id from users where role = 'admin' for update`
    held.resolve()
    await letGone
  })
  await held.promise
  return {
    untilWaiting: (count) =>
      eventually(`the wait of ${count} for a lock`, async () => {
        const waiting = await sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return waiting.length >= count || undefined
      }),
    async release() {
      letGo()
      await holding
    },
  }
}

for (const [title, clash] of Object.entries(CLASHES)) {
  nodeTest(`two admins who ${title} at once, in two processes, leave one who can act`, async (t) => {
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
    assert.equal(await countAbleAdmins(service), 1)
  })
}

/** A request on its way: inject() alone waits until somebody asks for its result. */
function inject(app: App, request: InjectOptions): Promise<LightMyRequestResponse> {
  return app.inject(request).then((response) => response)
}

test('of ten admins who all delete or ban each other, somebody who can act is always left', async (t) => {
  const service = await startApp(t)
  const apps = [service.app, await secondApp(t, service)]
  const admins = await Promise.all(Array.from({ length: 10 }, () => admin(service)))
  const requests = admins.flatMap((actor, a) =>
    admins.flatMap((target, b) => (a === b ? [] : [(a + b) % 2 ? ban(actor, target) : remove(actor, target)])),
  )
  await Promise.all(requests.map((request, n) => inject(apps[n % 2] ?? service.app, request)))
  // What another process has written is seen from the next turn of the event loop on.
  await nextTurn()
  assert.equal(await countAbleAdmins(service), 1)
})

test('a ban, an unban and a deletion are felt by the very next request in another process', async (t) => {
  const service = await startApp(t)
  const other = await secondApp(t, service)
  const boss = await admin(service)
  const mia = await member(service)
  const holder = await keyHolder(service, mia)
  // Over a real connection, as a request comes to another process: in a turn of the event loop of its own.
  const address = await other.listen({ port: 0 })
  const statusOf = async (path: string, { headers }: Actor) => (await fetch(address + path, { headers })).status
  const seen = () => Promise.all([statusOf('/users/me', mia), statusOf('/users/me', holder)])
  const done = async (request: InjectOptions) => assert.equal((await service.app.inject(request)).statusCode, 204)

  assert.deepEqual(await seen(), [200, 200])
  await done(ban(boss, mia))
  assert.deepEqual(await seen(), [401, 401])
  await done({ method: 'POST', url: `/users/${mia.id}/unban`, headers: boss.headers })
  assert.deepEqual(await seen(), [200, 200])
  await done({ method: 'DELETE', url: `/users/keys/${holder.keyId}`, headers: mia.headers })
  assert.deepEqual(await seen(), [200, 401])
  await done({ method: 'POST', url: `/users/${mia.id}/make-admin`, headers: boss.headers })
  assert.equal(await statusOf('/users/', mia), 200)
  await done(remove(boss, mia))
  assert.deepEqual(await seen(), [401, 401])
})

test('401: an admin who is banned between their check and their deed does nothing, with a token or a key', async (t) => {
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
