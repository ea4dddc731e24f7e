import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { Refusal } from '../../../../src/model/refusal.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { login } from '../../../support/http/requests.ts'

type View = {
  readonly id: string
  readonly created_at: string
  readonly last_seen_at: string
  readonly expires_at: string
  readonly ip: string | null
  readonly user_agent: string | null
  readonly current: boolean
}

async function list({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, url = '/users/me/sessions'): Promise<View[]> {
  const response = await app.inject({ url, headers })
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

async function logIn({ app }: TestApp, { email, password }: Actor, options: InjectOptions = {}): Promise<Pick<Actor, 'headers'>> {
  const request = login({ email, password })
  const response = await app.inject({ ...request, ...options, headers: { ...request.headers, ...options.headers } })
  return { headers: { authorization: `Bearer ${response.json().token}` } }
}

async function remove({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, url: string) {
  return app.inject({ method: 'DELETE', url, headers })
}

const iso = (ms: number) => new Date(ms).toISOString()

test('200: the sessions of the caller, newest first, with the address and the user agent of each login', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await member(service)
  const start = service.clock.now()
  service.clock.advance({ seconds: 60 })
  const second = await logIn(service, mia, { headers: { 'user-agent': 'x'.repeat(300) }, remoteAddress: '2001:db8::7' })
  const [newest, oldest, ...others] = await list(service, second)
  const month = 30 * 24 * 60 * 60_000
  assert.deepEqual(
    { ...newest, id: '' },
    {
      id: '',
      created_at: iso(start + 60_000),
      last_seen_at: iso(start + 60_000),
      expires_at: iso(start + 60_000 + month),
      ip: '2001:db8::7',
      user_agent: 'x'.repeat(200),
      method: 'password',
      second_factor: false,
      current: true,
    },
  )
  assert.deepEqual([oldest?.created_at, oldest?.user_agent, oldest?.current, others], [iso(start), null, false, []])
  const marked = await list(service, await keyHolder(service, mia))
  assert.deepEqual(
    marked.map(({ current }) => current),
    [false, false],
    'an API key has no session',
  )
})

test('200: an IPv4 client of a service that listens on IPv6 is listed with its IPv4 address', async (t) => {
  const service = await startApp(t)
  const session = await logIn(service, await member(service), { remoteAddress: '::ffff:203.0.113.9' })
  assert.equal((await list(service, session)).find(({ current }) => current)?.ip, '203.0.113.9')
})

test('200: behind a trusted proxy the address is the one that the proxy reports; otherwise the header is ignored', async (t) => {
  for (const [trusted, expected] of [
    ['true', '203.0.113.9'],
    ['false', '127.0.0.1'],
  ] as const) {
    const service = await startApp(t, { env: { TRUST_PROXY: trusted } })
    const session = await logIn(service, await member(service), { headers: { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' } })
    assert.equal((await list(service, session)).find(({ current }) => current)?.ip, expected)
  }
})

test('200: last_seen_at is at most five minutes out of date, and a request writes nothing', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const start = service.clock.now()
  const writes: string[] = []
  const { transaction, run } = service.db
  service.db.transaction = (work, options) => {
    writes.push('transaction')
    return transaction(work, options)
  }
  service.db.run = (declared, ...values) => {
    writes.push(declared.sql)
    return run(declared, ...values)
  }
  for (const minutes of [0, 4, 8, 12]) {
    if (minutes > 0) service.clock.advance({ minutes: 4 })
    await service.app.inject({ url: '/users/me', headers: mia.headers })
    assert.deepEqual(writes, [], 'the request itself writes nothing')
    await service.sessionUse.flush()
    assert.equal(writes.splice(0).length, 1)
    const [session] = await list(service, mia)
    assert.equal(session?.last_seen_at, iso(start + minutes * 60_000))
  }
  service.clock.advance({ seconds: 239 })
  await service.app.inject({ url: '/users/me', headers: mia.headers })
  await service.sessionUse.flush()
  assert.deepEqual(writes, [], 'a session that was noted less than four minutes ago is not noted again')
})

test('200: a use of a session that an outage kept from being recorded is recorded later', async (t) => {
  const service = await startApp(t)
  const people = [await member(service), await member(service)]
  service.clock.advance({ minutes: 3 })
  const usedAt = service.clock.now()
  for (const { headers } of people) await service.app.inject({ url: '/users/me', headers })
  const { run } = service.db
  service.db.run = () => Promise.reject(new Refusal('unavailable', 'an outage'))
  await assert.rejects(service.sessionUse.flush())
  service.db.run = run
  service.clock.advance({ minutes: 1 })
  await service.sessionUse.flush()
  for (const person of people) assert.equal((await list(service, person))[0]?.last_seen_at, iso(usedAt))
})

test('200: an expired session is not listed, and cannot be revoked', async (t) => {
  const service = await startApp(t)
  const mia = await keyHolder(service, await member(service))
  const [session] = await list(service, mia)
  service.clock.advance({ days: 31 })
  assert.deepEqual(await list(service, mia), [])
  refused(await remove(service, mia, `/users/me/sessions/${session?.id}`), 404, 'Session not found')
})

test('204: a revoked session ends with the next request, its refresh token included', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const second = await logIn(service, mia)
  const stolen = (await list(service, second)).find(({ current }) => !current)
  assert.equal((await remove(service, second, `/users/me/sessions/${stolen?.id}`)).statusCode, 204)
  refused(await service.app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
  refused(await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: mia.refresh } }), 401, 'That token is Invalid')
  assert.equal((await list(service, second)).length, 1)
  refused(await remove(service, second, `/users/me/sessions/${stolen?.id}`), 404, 'Session not found')
})

test('204: the current session may be revoked like any other', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const [session] = await list(service, mia)
  assert.equal((await remove(service, mia, `/users/me/sessions/${session?.id}`)).statusCode, 204)
  refused(await service.app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
})

test('204: all other sessions end; with an API key all end', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const other = await member(service)
  const sessions = [await logIn(service, mia), await logIn(service, mia)]
  assert.equal((await remove(service, mia, '/users/me/sessions')).statusCode, 204)
  assert.equal((await list(service, mia)).length, 1)
  for (const { headers } of sessions) refused(await service.app.inject({ url: '/users/me', headers }), 401, 'That token is Invalid')
  assert.equal((await remove(service, await keyHolder(service, mia), '/users/me/sessions')).statusCode, 204)
  refused(await service.app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
  assert.equal((await list(service, other)).length, 1, 'no other user is logged out')
})

test('404: the session of another user, and anything that is not the id of a session', async (t) => {
  const service = await startApp(t)
  const [mia, ada] = [await member(service), await member(service)]
  const [foreign] = await list(service, ada)
  for (const id of [foreign?.id, 'none', 'x'.repeat(64), encodeURIComponent("' or 1=1 --"), '%C3%BC'])
    refused(await remove(service, mia, `/users/me/sessions/${id}`), 404, 'Session not found')
  assert.equal((await list(service, ada)).length, 1)
})

test('an admin lists and revokes the sessions of any user', async (t) => {
  const service = await startApp(t)
  const [boss, mia, ada] = [await admin(service), await member(service), await member(service)]
  await logIn(service, mia)
  await logIn(service, mia)
  const path = `/users/${mia.id}/sessions`
  const sessions = await list(service, boss, path)
  assert.deepEqual([sessions.length, sessions.some(({ current }) => current)], [3, false])
  const [foreign] = await list(service, ada)
  refused(await remove(service, boss, `${path}/${foreign?.id}`), 404, 'Session not found')
  assert.equal((await remove(service, boss, `${path}/${sessions[0]?.id}`)).statusCode, 204)
  assert.equal((await list(service, boss, path)).length, 2)
  assert.equal((await remove(service, boss, path)).statusCode, 204)
  assert.deepEqual(await list(service, boss, path), [])
  refused(await service.app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
  assert.equal((await list(service, ada)).length, 1)
})

test('404: the sessions of a user who does not exist', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  refused(await service.app.inject({ url: '/users/9999/sessions', headers: boss.headers }), 404, 'User not Found')
  refused(await remove(service, boss, '/users/9999/sessions'), 404, 'User not Found')
  refused(await remove(service, boss, '/users/9999/sessions/any'), 404, 'User not Found')
})

test('a revocation is logged with the session that it ended', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const [session] = await list(service, mia)
  await remove(service, mia, `/users/me/sessions/${session?.id}`)
  const { event, actor, target, sessionId } = JSON.parse(service.logged.at(-1) ?? '{}')
  assert.deepEqual({ event, actor, target, sessionId }, { event: 'session.revoked', actor: mia.id, target: mia.id, sessionId: session?.id })
})
