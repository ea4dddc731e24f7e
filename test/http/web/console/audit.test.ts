import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { actorOf, OPERATOR } from '../../../support/http/origins.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

const MARKUP = '<script>alert(1)</script>'
const COUNT_EXPORTS = statement<{ count: number }>("select count(*) as count from events where kind = 'data.exported'")
const INVADE = statement(`update events set detail = '{"invalid":"${MARKUP}"}', ip = '${MARKUP}' where kind = 'user.banned'`)

async function start(t: Parameters<typeof startApp>[0]) {
  const service = await startApp(t)
  const boss = await admin(service, { email: 'boss@example.com' })
  const cookie = await signIn(service.app, boss)
  const look = (path: string) => service.app.inject(visit(`/console/audit${path}`, cookie))
  const press = (path: string, fields: Record<string, string> = {}) => service.app.inject(submit(`/console/audit${path}`, fields, cookie))
  const ban = async (id: number) => assert.equal((await service.app.inject(submit(`/console/users/${id}/ban`, {}, cookie))).statusCode, 303)
  return { ...service, service, boss, cookie, look, press, ban }
}

test('200: events are listed newest first, by kind, actor and target, with pages; markup stays text', async (t) => {
  const { service, look, ban, boss, services, db, app, cookie } = await start(t)
  const mia = await member(service)
  await ban(mia.id)
  const kinds = ({ body }: { body: string }) => [...body.matchAll(/<code>([a-z.]+)<\/code>/g)].map(([, kind]) => kind)
  assert.equal(kinds(await look(''))[0], 'user.banned')
  assert.deepEqual(kinds(await look('?kind=user.banned')), ['user.banned'])
  assert.deepEqual(kinds(await look(`?target=${mia.id}&kind=user.banned&actor=${boss.id}`)), ['user.banned'])
  assert.deepEqual(kinds(await look(`?target=${mia.id}&actor=${mia.id}`)), [])
  assert.deepEqual(kinds(await look('?actor=nobody')), [])
  assert.match(textOf(await look('?actor=nobody')), /No matching events No event matches this filter\. Show all events/)
  assert.match(
    textOf(await look('?kind=user.banned')),
    new RegExp(`user\\.banned .* ${boss.email} user ${boss.id} ${mia.email} user ${mia.id} console`),
  )
  assert.deepEqual(kinds(await look(`?kind=user.banned&target=${mia.email.toUpperCase()}&actor=${boss.email}`)), ['user.banned'])
  const today = new Date(service.clock.now()).toISOString().slice(0, 10)
  assert.deepEqual(kinds(await look(`?kind=user.banned&from=${today}&to=${today}`)), ['user.banned'])
  assert.deepEqual(kinds(await look('?kind=user.banned&to=2020-01-01')), [])
  assert.deepEqual(kinds(await look('?kind=user.banned&from=2999-01-01')), [])
  assert.equal((await look('?kind=nonsense')).statusCode, 422)
  await db.run(INVADE)
  for (const page of [await look(''), await app.inject(visit(`/console/users/${mia.id}`, cookie))]) {
    assert.ok(!page.body.includes(MARKUP) && page.body.includes('&lt;script&gt;'))
    assert.match(textOf(page), /user\.banned/)
  }
  for (let n = 0; n < 60; n++) await services.userAdministration[n % 2 === 0 ? 'unban' : 'ban'](OPERATOR, mia.id)
  const first = await look(`?target=${mia.id}`)
  const next = /rel="next" href="\/console\/audit([^"]*)"/.exec(first.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.equal(kinds(first).length, 40)
  const second = await look(next)
  assert.ok(kinds(second).length >= 11 && !second.body.includes('rel="next"'), next)
})

test('200: verification says whether the trail is complete', async (t) => {
  const { service, press, ban } = await start(t)
  await ban((await member(service)).id)
  assert.match(textOf(await press('/verify')), /The audit trail is complete and unchanged: 0 sealed events, \d+ waiting to be sealed/)
})

test('200: a download has every event, is an event itself, and asks for the password after ten minutes', async (t) => {
  const { service, press, ban, db, clock, boss } = await start(t)
  await ban((await member(service)).id)
  const file = await press('/download')
  assert.deepEqual(
    [file.statusCode, file.headers['content-type'], file.headers['content-disposition']],
    [200, 'application/x-ndjson; charset=utf-8', 'attachment; filename="audit.ndjson"'],
  )
  const kinds = file.body
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { kind: string }).kind)
  assert.ok(kinds.includes('user.banned') && kinds.includes('data.exported'))
  clock.advance({ minutes: 11 })
  const asked = await press('/download')
  assert.equal(asked.statusCode, 403)
  assert.match(textOf(asked), /Confirm your password .* Enter it again to download the audit trail\./)
  assert.match(asked.body, /action="\/console\/audit\/download" data-download>/)
  assert.equal((await db.first(COUNT_EXPORTS))?.count, 1)
  assert.equal((await press('/download', { password: boss.password })).statusCode, 200)
})

const INSERT_EVENTS = statement(`
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1100)
  insert into events (at, kind, via, mac, mac_key) select n, 'user.banned', 'http', 'x', 'x' from numbers`)

test('a download ends when its admin is banned, demoted or signed out', async (t) => {
  const { service, services, db } = await start(t)
  await db.run(INSERT_EVENTS)
  const revocations: [(id: number) => Promise<unknown>, string][] = [
    [(id) => services.userAdministration.ban(OPERATOR, id), 'token_invalid'],
    [(id) => services.userAdministration.revokeAdmin(OPERATOR, id), 'not_permitted'],
    [(id) => services.sessions.revokeAll(OPERATOR, id), 'token_invalid'],
  ]
  for (const [revoke, code] of revocations) {
    const second = await admin(service)
    const pages = await services.audit.export(actorOf(await services.authentication.byToken(second.token)))
    let received = 0
    const download = async () => {
      for await (const page of pages) {
        received += page.length
        if (received === page.length) await revoke(second.id)
      }
    }
    await assert.rejects(download(), { code })
    assert.equal(received, 500)
  }
})
