import assert from 'node:assert/strict'
import { admin } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { insertMany, ROW_ID } from '../../../support/databases/rows.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

const USER = 'cast($2 as bigint)'
const NOW = 'cast($3 as bigint)'
// Older than the session of the page, which is therefore the first of its list.
const INSERT_SESSIONS = insertMany(
  'sessions',
  'id, user_id, created_at, expires_at',
  `${ROW_ID}, ${USER}, ${NOW} - 1000 - n, ${NOW} + 3600000`,
)
const INSERT_KEYS = insertMany(
  'api_keys',
  'id, user_id, name, key_hash, scopes, created_at, access',
  `${ROW_ID}, ${USER}, 'key ' || cast(n as text), cast(n as text), '[]', ${NOW} - 1000 + n, 'read'`,
)
const INSERT_MAILS = insertMany(
  'outbox',
  'kind, recipient, requested_at, due_at, attempts, last_error, failed_at',
  `'reset', cast(n + ${USER} as text) || '@example.com', ${NOW}, ${NOW}, 9, 'refused', ${NOW}`,
)
const INSERT_WEBHOOKS = insertMany(
  'webhook_deliveries',
  'message_id, type, user_id, occurred_at, requested_at, due_at, attempts, last_error, failed_at',
  `cast(n as text), 'user.banned', ${USER}, ${NOW}, ${NOW}, ${NOW}, 9, 'refused', ${NOW}`,
)

async function start(t: Parameters<typeof startApp>[0]) {
  const service = await startApp(t)
  const { app, db, clock } = service
  const boss = await admin(service)
  const cookie = await signIn(app, boss)
  const insert = async (userId: number, { sessions = 0, keys = 0, failures = 0 }) => {
    if (sessions > 0) await db.run(INSERT_SESSIONS, sessions, userId, clock.now())
    if (keys > 0) await db.run(INSERT_KEYS, keys, userId, clock.now())
    if (failures > 0) for (const rows of [INSERT_MAILS, INSERT_WEBHOOKS]) await db.run(rows, failures, userId, clock.now())
  }
  const look = async (path: string) => {
    const page = await app.inject(visit(path, cookie))
    assert.equal(page.statusCode, 200, path)
    return page
  }
  const press = (path: string) => app.inject(submit(path, {}, cookie))
  return { ...service, service, boss, cookie, insert, look, press }
}

/** The address of the first form that ends like this. */
function formOf({ body }: { body: string }, end: string): string {
  const actions = [...body.matchAll(/action="([^"]*)"/g)].map(([, action = '']) => action.replaceAll('&amp;', '&'))
  return actions.find((action) => action.split('?')[0]?.endsWith(end)) ?? assert.fail(`no form ends with ${end}`)
}

function linkOf({ body }: { body: string }, rel: string): string | undefined {
  return new RegExp(`rel="${rel}" href="([^"#]*)`).exec(body)?.[1]?.replaceAll('&amp;', '&')
}

test('303: a button on a later page of a list of sessions or keys leads back to that page', async (t) => {
  const { boss, insert, look, press } = await start(t)
  await insert(boss.id, { sessions: 30, keys: 30 })
  const sessions = '/account/sessions?page=2'
  assert.equal((await press(formOf(await look(sessions), '/revoke'))).headers.location, sessions)
  assert.equal(formOf(await look('/account/sessions'), '/revoke').includes('?'), false, 'the first page needs no number')

  const keys = '/account/keys?page=2'
  const [, manage = ''] = /<a class="main" href="([^"]*)"/.exec((await look(keys)).body) ?? []
  const key = await look(manage)
  assert.ok(key.body.includes(`<a class="back" href="${keys}">`), 'the page of the key leads back')
  assert.equal((await press(formOf(await look(keys), '/disable'))).headers.location, manage)
  assert.equal((await press(formOf(key, '/rotate'))).headers.location, manage)
  assert.equal((await press(formOf(await look(manage), '/enable'))).headers.location, manage)
  assert.equal((await press(formOf(key, '/delete'))).headers.location, keys)

  const user = `/console/users/${boss.id}?sessions=2&keys=3`
  for (const end of ['/revoke', '/disable']) assert.equal((await press(formOf(await look(user), end))).headers.location, user, end)
  const revokeKey = formOf(await look(user), '/disable').replace('/disable', '/delete')
  assert.equal((await press(revokeKey)).headers.location, user)
})

test('303: the question for the password leads back to the same page of the list', async (t) => {
  const { app, insert, look, press, boss, clock } = await start(t)
  await insert(boss.id, { keys: 30 })
  const [, manage = ''] = /<a class="main" href="([^"]*)"/.exec((await look('/account/keys?page=2')).body) ?? []
  clock.advance({ minutes: 11 })
  const asked = await press(formOf(await look(manage), '/rotate'))
  assert.equal(asked.statusCode, 403)
  assert.match(asked.body, new RegExp(`href="${manage.replace('?', '\\?')}">Cancel<`))
  const done = await app.inject(submit(formOf(asked, '/rotate'), { password: boss.password }, await signIn(app, boss)))
  assert.equal(done.headers.location, manage)
  const undeclared = await press(`/console/users/${boss.id}/make-admin?x=y`)
  assert.equal(undeclared.statusCode, 403)
  assert.equal(formOf(undeclared, '/make-admin'), `/console/users/${boss.id}/make-admin`, 'only declared parameters are repeated')
})

test('303: a button on a later page of failed mails or webhooks leads back to that page', async (t) => {
  const { app, cookie, insert, look, press, boss } = await start(t)
  await insert(boss.id, { failures: 32 })
  for (const list of ['/console/mail?status=failed', '/console/webhooks?status=failed']) {
    const later = linkOf(await look(list), 'next') ?? assert.fail(list)
    for (const end of ['/discard', '/retry'])
      assert.equal((await press(formOf(await look(later), end))).headers.location, later, `${list} ${end}`)
    const start = /<a class="button small" href="([^"]*)">(?:Newest|Oldest)</.exec((await look(later)).body)?.[1]
    assert.equal(start, list, 'a later page leads to the first one')
  }
  for (const [beyond, list] of [
    ['/console/mail?status=failed&before=1', '/console/mail?status=failed'],
    ['/console/webhooks?status=failed&after=9999', '/console/webhooks?status=failed'],
  ] as const) {
    const { statusCode, headers } = await app.inject(visit(beyond, cookie))
    assert.deepEqual([statusCode, headers.location], [303, list], 'a page whose last row has gone leads to the first one')
  }
})

test('200: in place of a page beyond the end is the last one', async (t) => {
  const { services, insert, look, press, boss } = await start(t)
  await insert(boss.id, { sessions: 25, keys: 26 })
  const mainCells = ({ body }: { body: string }) => body.split('class="main"').length - 1
  assert.equal(mainCells(await look('/account/keys?page=2')), 1)
  assert.equal((await press(formOf(await look('/account/keys?page=2'), '/disable'))).statusCode, 303)
  const [, last = ''] = /<a class="main" href="([^"]*)"/.exec((await look('/account/keys?page=2')).body) ?? []
  const deleted = await press(formOf(await look(last), '/delete'))
  const after = await look(String(deleted.headers.location))
  assert.equal(mainCells(after), 25)
  assert.ok(linkOf(after, 'next') === undefined && linkOf(after, 'prev') === undefined, 'one page is left')

  assert.equal(mainCells(await look('/account/sessions?page=40')), (await services.sessions.list(boss.id)).length - 25)
  assert.match(textOf(await look(`/console/users/${boss.id}?sessions=100&keys=100`)), /Sessions .*Unknown client.*API keys .*key 25 /)
  assert.equal(linkOf(await look('/console/mail?kept=9007199254740991'), 'prev'), undefined)
})

test('200: no link to the next page leads to a page that is refused', async (t) => {
  const { insert, look, boss } = await start(t)
  await insert(boss.id, { sessions: 1100, keys: 1100 })
  const user = (page: number) => `/console/users/${boss.id}?sessions=${page}&keys=${page}`
  for (const [before, last] of [
    ['/account/sessions?page=39', '/account/sessions?page=40'],
    ['/account/keys?page=39', '/account/keys?page=40'],
    [user(99), user(100)],
  ] as const) {
    await look(linkOf(await look(before), 'next') ?? assert.fail(`${before} is the last page`))
    assert.equal(linkOf(await look(last), 'next'), undefined, last)
  }
})
