import assert from 'node:assert/strict'
import { AUDITED_KINDS } from '../../../../src/model/event.ts'
import { statement } from '../../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid } from '../../../support/app/assertions.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

const MOVE_OUT_OF_CALENDAR = statement('update events set at = 9000000000000000')

type Item = { readonly id: number; readonly kind: string; readonly actor: number | null; readonly target: number | null }
type Page = { readonly items: readonly Item[]; readonly next: string | null }

async function listed({ app }: TestApp, headers: Readonly<Record<string, string>>, query: Readonly<Record<string, string>> = {}) {
  const response = await app.inject({ url: '/audit/', headers, query })
  assert.equal(response.statusCode, 200, response.body)
  return response.json() as Page
}

test('200: events have the documented fields, newest first', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  const banned = await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  const { items, next } = await listed(service, boss.headers)
  const [last] = await storedEvents(service.db).then((events) => events.reverse())
  assert.deepEqual(items[0], {
    id: last?.id,
    at: new Date(service.clock.now()).toISOString(),
    kind: 'user.banned',
    actor: boss.id,
    via: 'http',
    target: mia.id,
    key_id: null,
    ip: '127.0.0.1',
    request_id: banned.headers['x-request-id'],
    detail: null,
  })
  assert.deepEqual(
    items.map(({ kind, target }) => `${kind} ${target}`),
    [`user.banned ${mia.id}`, `user.registered ${mia.id}`, `user.registered ${boss.id}`],
  )
  assert.equal(next, null)
})

test('200: every filter selects its events, also together', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const [mia, ada] = [await member(service), await member(service)]
  const start = service.clock.now()
  for (const { id } of [mia, ada]) {
    service.clock.advance({ minutes: 1 })
    await service.app.inject({ method: 'POST', url: `/users/${id}/ban`, headers: boss.headers })
  }
  const kinds = async (query: Readonly<Record<string, string>>) =>
    (await listed(service, boss.headers, query)).items.map(({ kind, target }) => `${kind} ${target}`)
  const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString()
  const banned = [`user.banned ${ada.id}`, `user.banned ${mia.id}`]
  assert.deepEqual(await kinds({ kind: 'user.banned' }), banned)
  assert.deepEqual(await kinds({ actor: String(boss.id) }), banned)
  assert.deepEqual(await kinds({ target: String(mia.id) }), [`user.banned ${mia.id}`, `user.registered ${mia.id}`])
  assert.deepEqual(await kinds({ target: String(mia.id), kind: 'user.banned', actor: String(boss.id) }), [`user.banned ${mia.id}`])
  assert.deepEqual(await kinds({ target: String(mia.id), actor: String(ada.id) }), [])
  assert.deepEqual(await kinds({ since: at(2) }), [`user.banned ${ada.id}`])
  assert.deepEqual(await kinds({ since: at(1), until: at(1) }), [`user.banned ${mia.id}`])
  assert.deepEqual(await kinds({ until: at(-1) }), [])
  assert.equal((await kinds({ until: at(0) })).length, 3)
  for (const kind of AUDITED_KINDS) await kinds({ kind })
})

test('200: pages follow each other without gaps or repetitions, while events are added', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  for (let n = 0; n < 6; n++) {
    await member(service)
    if (n % 2 === 0) service.clock.advance({ seconds: 1 })
  }
  const expected = (await storedEvents(service.db)).map(({ id }) => id).reverse()
  for (const filter of [{}, { kind: 'user.registered' }]) {
    const found: number[] = []
    let cursor: Readonly<Record<string, string>> = {}
    for (let pages = 0; pages < 10; pages++) {
      const { items, next } = await listed(service, boss.headers, { ...filter, ...cursor, size: '2' })
      found.push(...items.map(({ id }) => id))
      await member(service)
      if (next === null) break
      cursor = { cursor: next }
    }
    assert.deepEqual(
      found.filter((id) => expected.includes(id)),
      expected,
    )
    assert.equal(new Set(found).size, found.length)
  }
})

test('422: an invalid filter, cursor or size', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  for (const [name, value, type] of [
    ['kind', 'user.unknown', 'enum'],
    ['kind', 'mail.requested', 'enum'],
    ['actor', 'mia', 'int_parsing'],
    ['target', '-1', 'int_parsing'],
    ['since', '2026-01-31', 'datetime_parsing'],
    ['until', 'yesterday', 'datetime_parsing'],
    ['cursor', '12', 'value_error'],
    ['cursor', '1-2-3', 'value_error'],
    ['size', '0', 'greater_than_equal'],
    ['size', '101', 'less_than_equal'],
  ] as const) {
    const response = await service.app.inject({ url: '/audit/', headers: boss.headers, query: { [name]: value } })
    invalid(response, { loc: ['query', name], type })
  }
})

test('a user gets 403, and an admin key that may read gets 200', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  assert.equal((await service.app.inject({ url: '/audit/', headers: mia.headers })).statusCode, 403)
  const key = await keyHolder(service, await admin(service), { access: 'read' })
  assert.equal((await service.app.inject({ url: '/audit', headers: key.headers })).statusCode, 200)
})

test('200: an event whose time somebody has moved out of the calendar does not break the list', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  await service.db.run(MOVE_OUT_OF_CALENDAR)
  const { items } = await listed(service, boss.headers)
  assert.deepEqual(items[0], { ...items[0], kind: 'user.registered', at: '+275760-09-13T00:00:00.000Z' })
})
