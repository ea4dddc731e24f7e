import assert from 'node:assert/strict'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../../support/http/origins.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { stall } from '../../../support/load/stalled-request.ts'

async function start(t: Parameters<typeof startApp>[0]) {
  const service = await startApp(t)
  const boss = await admin(service, { email: 'boss@example.com' })
  const cookie = await signIn(service.app, boss)
  const press = (path: string, fields: Record<string, string> = {}) => service.app.inject(submit(`/console/users/${path}`, fields, cookie))
  const look = (path: string) => service.app.inject(visit(`/console/users/${path}`, cookie))
  return { ...service, service, boss, cookie, press, look }
}

/** The buttons of a page, by the address that they post to. */
function buttonsOf(body: string): string[] {
  return [...body.matchAll(/action="([^"]+)"><button[^>]*>([^<]+)</g)].map(([, action, label]) => `${label} ${action}`)
}

function events({ logged }: Pick<TestApp, 'logged'>): string[] {
  const lines = logged.map((line) => JSON.parse(line) as { event?: string; via?: string; actor?: number; target?: number })
  return lines
    .filter(({ event, via }) => event !== undefined && via === 'console')
    .map(({ event, actor, target }) => `${event} ${actor} ${target}`)
}

test('200: the page shows the profile, the sessions and the keys of a user, with their buttons', async (t) => {
  const { service, look } = await start(t)
  const mia = await member(service, { email: 'mia@example.com', verified: false })
  await service.services.sessions.revokeAll(OPERATOR, mia.id)
  const { keyId } = await keyHolder(service, mia, { name: 'deploy key' })
  const page = await look(String(mia.id))
  assert.equal(page.statusCode, 200)
  const base = `/console/users/${mia.id}`
  assert.deepEqual(buttonsOf(page.body).slice(1), [
    `Verify ${base}/verify`,
    `Disable ${base}/keys/${keyId}/disable`,
    `Send password reset ${base}/send-reset`,
  ])
  const text = textOf(page)
  assert.match(
    text,
    /Make admin… Make mia@example\.com an admin\? They can change and delete every account, also yours\. You can undo this/,
  )
  assert.match(text, /Ban… Ban mia@example\.com ?\? Their sessions and API keys stop working\. You can undo this with Unban\. Ban/)
  assert.match(text, /Delete… Delete the key deploy key of mia@example\.com\? .* This cannot be undone\. Delete/)
  assert.match(page.body, new RegExp(`<form method="post" action="${base}/delete">.*<button class="primary danger">Delete</button>`))
  assert.match(textOf(page), /mia@example\.com .*Unverified.*No sessions.*deploy key lk_[\w-]+…/)
})

test('303: each button does what it says, once, and its event names the admin and the console', async (t) => {
  const stage = await start(t)
  const { service, press, look, boss, services, mailbox } = stage
  const mia = await member(service, { verified: false })
  const { keyId } = await keyHolder(service, mia)
  const [session] = await services.sessions.list(mia.id)
  const steps: [string, string, string, RegExp][] = [
    ['verify', 'user-verified', 'user.verified', /Active/],
    ['ban', 'user-banned', 'user.banned', /Banned/],
    ['unban', 'user-unbanned', 'user.unbanned', /Active/],
    ['make-admin', 'user-promoted', 'user.promoted', /Admin/],
    ['revoke-admin', 'user-demoted', 'user.demoted', /Make admin/],
    ['make-admin', 'user-promoted', 'user.promoted', /Admin/],
    ['send-reset', 'reset-sent', 'mail.requested', /./],
    [`keys/${keyId}/disable`, 'key-disabled', 'key.changed', /Disabled/],
    [`keys/${keyId}/enable`, 'key-enabled', 'key.changed', /Active/],
    [`keys/${keyId}/delete`, 'key-deleted', 'key.revoked', /No API keys/],
    [`sessions/${session?.id}/revoke`, 'session-revoked', 'session.revoked', /No sessions/],
    ['sessions/end-all', 'user-has-no-sessions', 'session.revoked', /No sessions/],
  ]
  for (const [path, notice, event, shown] of steps) {
    const pressed = await press(`${mia.id}/${path}`)
    assert.deepEqual([pressed.statusCode, pressed.headers.location], [303, `/console/users/${mia.id}`], path)
    assert.match(String(pressed.headers['set-cookie']), new RegExp(`^latchkey-notice=${notice}; Max-Age=60; Path=/; HttpOnly`))
    assert.match(textOf(await look(String(mia.id))), shown, path)
    assert.equal(events(stage).at(-1), `${event} ${boss.id} ${mia.id}`)
  }
  assert.equal(await mailbox.countFor(mia.email), 1)
  const deleted = await press(`${mia.id}/delete`)
  assert.deepEqual([deleted.statusCode, deleted.headers.location], [303, '/console/users'])
  assert.equal(events(stage).at(-1), `user.deleted ${boss.id} ${mia.id}`)
  assert.equal((await look(String(mia.id))).statusCode, 404)
})

test('400, 404, 422: a refusal is a page that says why, and nothing changes', async (t) => {
  const stage = await start(t)
  const { service, press, look, boss } = stage
  const mia = await member(service)
  const other = await member(service)
  const { keyId } = await keyHolder(service, other)
  const [session] = await service.services.sessions.list(other.id)
  const before = events(stage).length
  const cases: [string, number, RegExp][] = [
    [`${boss.id}/ban`, 400, /You cannot ban yourself/],
    [`${boss.id}/delete`, 400, /The last admin cannot be deleted/],
    ['999999/ban', 404, /There is no such user/],
    ['999999/make-admin', 404, /There is no such user/],
    ['999999/delete', 404, /There is no such user/],
    ['x/ban', 422, /./],
    ['0x7/ban', 422, /./],
    [`${mia.id}/keys/${keyId}/disable`, 404, /There is no such API key/],
    [`${mia.id}/keys/${keyId}/delete`, 404, /There is no such API key/],
    [`${mia.id}/sessions/${session?.id}/revoke`, 404, /There is no such session/],
  ]
  for (const [path, status, message] of cases) {
    const response = await press(path)
    assert.equal(response.statusCode, status, path)
    assert.match(String(response.headers['content-type']), /^text\/html/)
    assert.match(textOf(response), message)
  }
  assert.equal(events(stage).length, before)
  assert.equal((await look('999999')).statusCode, 404)
  assert.equal((await look('x')).statusCode, 422)
})

test('303, 422: the data of the product is shown and replaced, and a refused form keeps what was written', async (t) => {
  const stage = await start(t)
  const { service, press, look, boss, services, clock } = stage
  const mia = await member(service)
  const find = () => services.productData.find(mia.id)
  await services.productData.patch(OPERATOR, mia.id, { profile: { text: '</textarea><script>', theme: 'dark' } })
  const page = await look(String(mia.id))
  assert.match(
    page.body,
    /<textarea id="profile" name="profile" [^>]*>\n\{\n {2}&quot;text&quot;: &quot;&lt;\/textarea&gt;&lt;script&gt;&quot;,/,
  )
  clock.advance({ minutes: 11 })
  const saved = await press(`${mia.id}/data`, { app: '{\r\n  "tenant": "acme",\r\n  "empty": null\r\n}' })
  assert.deepEqual([saved.statusCode, saved.headers.location], [303, `/console/users/${mia.id}`])
  assert.match(String(saved.headers['set-cookie']), /^latchkey-notice=data-saved;/)
  await press(`${mia.id}/data`, { profile: '{"theme":"light"}' })
  const expected = { profile: { theme: 'light' }, app: { tenant: 'acme', empty: null } }
  assert.deepEqual(await find(), expected)
  assert.equal(events(stage).at(-1), `data.changed ${boss.id} ${mia.id}`)
  const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`
  for (const text of ['{', '[]', 'null', '', deep, JSON.stringify({ a: 'x'.repeat(17_000) })]) {
    const refused = await press(`${mia.id}/data`, { app: text })
    assert.equal(refused.statusCode, 422, text)
    assert.match(textOf(refused), /Enter a JSON object of at most 16,384 bytes, nested at most 32 levels deep/)
    assert.ok(refused.body.includes(`>\n${text.replaceAll('"', '&quot;')}</textarea>`), text)
  }
  assert.equal((await press('999999/data', { app: '{}' })).statusCode, 404)
  assert.equal((await press('999999/data', { app: '{' })).statusCode, 404)
  assert.equal((await press('x/data', { app: '{}' })).statusCode, 404)
  assert.deepEqual(await find(), expected)
  // The largest object fits into its form, whatever is in it.
  const numbers = Array.from({ length: 8000 }, () => 1)
  for (const largest of [{ a: numbers }, { a: '"é'.repeat(4000) }]) {
    await services.productData.replace(OPERATOR, mia.id, { profile: largest })
    const [, text = ''] = /<textarea id="profile"[^>]*>\n([^<]*)</.exec((await look(String(mia.id))).body) ?? []
    const sent = text.replaceAll('&quot;', '"').replaceAll('\n', '\r\n')
    assert.equal((await press(`${mia.id}/data`, { profile: sent })).statusCode, 303)
    assert.deepEqual((await find()).profile, largest)
  }
})

test('403: making an admin and deleting ask for the password again after ten minutes', async (t) => {
  const stage = await start(t)
  const { service, app, clock, cookie, boss, services } = stage
  const mia = await member(service)
  const press = (action: string, fields: Record<string, string> = {}, by = cookie) =>
    app.inject(submit(`/console/users/${mia.id}/${action}`, fields, by))
  const roleOf = async () => (await services.userAdministration.find(mia.id)).role
  clock.advance({ minutes: 9, seconds: 58 })
  assert.equal((await press('make-admin')).statusCode, 303)
  await services.userAdministration.revokeAdmin(OPERATOR, mia.id)
  clock.advance({ minutes: 1 })
  const asked = await press('make-admin')
  assert.equal(asked.statusCode, 403)
  assert.match(asked.body, new RegExp(`<form class="form" method="post" action="/console/users/${mia.id}/make-admin">`))
  assert.match(textOf(asked), /Enter it again to make this user an admin\./)
  assert.match(asked.body, /<label for="password">Password<\/label>/)
  assert.equal(await roleOf(), 'user')
  // Other actions do not ask.
  assert.equal((await press('ban')).statusCode, 303)
  assert.equal((await press('unban')).statusCode, 303)

  const wrong = await press('make-admin', { password: 'not the password' })
  assert.deepEqual([wrong.statusCode, await roleOf()], [400, 'user'])
  assert.match(textOf(wrong), /Confirm your password Wrong password\. Nothing was changed/)
  assert.equal(wrong.headers['set-cookie'], undefined)

  const confirmed = await press('make-admin', { password: boss.password })
  assert.deepEqual([confirmed.statusCode, await roleOf()], [303, 'admin'])
  // The session is confirmed for ten minutes, whatever it does next.
  assert.equal((await services.sessions.list(boss.id)).length, 2)
  clock.advance({ minutes: 11 })
  const stale = await press('delete')
  assert.equal(stale.statusCode, 403)
  assert.match(textOf(stale), /Enter it again to delete this user\./)
  assert.equal((await press('delete', { password: boss.password })).statusCode, 303)
})

test('403: an account of an admin that works again is like a new admin, and needs the password', async (t) => {
  const { service, db, clock, press, boss, services } = await start(t)
  const other = await admin(service)
  await services.userAdministration.ban(OPERATOR, other.id)
  const unverified = await admin(service, { verified: false })
  const mia = await member(service, { verified: false })
  clock.advance({ minutes: 11 })
  const before = (await storedEvents(db)).length
  for (const [action, { id }] of [
    ['unban', other],
    ['verify', unverified],
  ] as const) {
    const asked = await press(`${id}/${action}`)
    assert.equal(asked.statusCode, 403, action)
    assert.match(textOf(asked), new RegExp(`Enter it again to ${action} this admin\\.`))
    assert.ok(!(await storedEvents(db)).slice(before).some(({ target }) => target === id))
    assert.equal((await press(`${mia.id}/${action}`)).statusCode, 303, `${action} a user`)
    assert.equal((await press(`999999/${action}`)).statusCode, 404)
  }
  assert.equal((await press(`${other.id}/unban`, { password: boss.password })).statusCode, 303)
  assert.equal((await press(`${unverified.id}/verify`, { password: boss.password })).statusCode, 303)
  assert.deepEqual([(await services.userAdministration.find(other.id)).banned], [false])
})

test('429: guessing the password in the question counts like signing in', async (t) => {
  const { service, app, clock, cookie } = await start(t)
  const mia = await member(service)
  clock.advance({ minutes: 11 })
  const guess = () => app.inject(submit(`/console/users/${mia.id}/make-admin`, { password: 'a wrong guess' }, cookie))
  for (let n = 0; n < 10; n++) assert.equal((await guess()).statusCode, 400)
  const limited = await guess()
  assert.deepEqual([limited.statusCode, limited.headers['retry-after']], [429, '6'])
  assert.match(textOf(limited), /Confirm your password/)
})

test('403, 303: an admin who is demoted, banned or signed out elsewhere changes nothing more', async (t) => {
  const { service, app, services } = await start(t)
  const mia = await member(service)
  const revocations: [string, (id: number) => Promise<unknown>, number][] = [
    ['demoted', (id) => services.userAdministration.revokeAdmin(OPERATOR, id), 403],
    ['banned', (id) => services.userAdministration.ban(OPERATOR, id), 401],
    ['revoked', (id) => services.sessions.revokeAll(OPERATOR, id), 401],
  ]
  for (const [name, revoke, status] of revocations) {
    const second = await admin(service)
    const theirs = await signIn(app, second)
    await revoke(second.id)
    assert.equal((await app.inject(submit(`/console/users/${mia.id}/ban`, {}, theirs))).statusCode, status, name)
  }
  assert.equal((await services.userAdministration.find(mia.id)).banned, false)
})

test('200: markup in names, keys, addresses and user agents stays text', async (t) => {
  const { service, app, look } = await start(t)
  const markup = '</td><script>alert(1)</script>"\'><img src=x onerror=alert(1)>'
  const mia = await member(service, { firstName: markup, lastName: markup })
  await keyHolder(service, mia, { name: markup, scopes: [markup] })
  const { headers, ...request } = submit('/account/sign-in', { email: mia.email, password: mia.password })
  await app.inject({ ...request, headers: { ...headers, 'user-agent': markup } })
  const { body } = await look(String(mia.id))
  assert.ok(!body.includes('<script>alert') && !body.includes('<img src=x'))
  assert.equal(body.split('&lt;script&gt;alert(1)').length - 1, 5)
})

test('200: sessions and keys have pages, and every key has its buttons', async (t) => {
  const { service, look, services } = await start(t)
  const mia = await member(service)
  const idsOf = ({ body }: { body: string }) => [...body.matchAll(/\/keys\/([^/]+)\/delete["?]/g)].map(([, id]) => id)
  const created: string[] = []
  const create = async () => created.push((await services.apiKeys.create(OPERATOR, mia.id, { name: 'x', scopes: [] })).id)
  for (let n = 0; n < 10; n++) await create()
  const only = await look(String(mia.id))
  assert.deepEqual(idsOf(only), created)
  assert.ok(!only.body.includes('rel="next"'), 'ten keys are one page')
  for (let n = 0; n < 2; n++) await create()
  const first = await look(String(mia.id))
  assert.deepEqual(idsOf(first), created.slice(0, 10))
  const [, next = ''] = /rel="next" href="\/console\/users\/([^"#]*)/.exec(first.body) ?? []
  const second = await look(next.replaceAll('&amp;', '&'))
  assert.deepEqual(idsOf(second), created.slice(10))
  assert.match(second.body, /rel="prev"/)

  for (let n = 0; n < 10; n++) await services.login.api.byPassword(ORIGIN, mia.email, mia.password)
  const revocable = ({ body }: { body: string }) => [...body.matchAll(/\/sessions\/([^/]+)\/revoke["?]/g)].map(([, id]) => id)
  const ids = (await services.sessions.list(mia.id)).map(({ id }) => id)
  assert.equal(ids.length, 11)
  const pages = [revocable(await look(String(mia.id))), revocable(await look(`${mia.id}?sessions=2`))]
  assert.deepEqual(pages, [ids.slice(0, 10), ids.slice(10)])
})

test('401, 403: a form whose sender loses their access while its body arrives changes nothing', async (t) => {
  const { service, app, services } = await start(t)
  const mia = await member(service)
  const revocations: [string, (id: number) => Promise<unknown>, number][] = [
    ['demoted', (id) => services.userAdministration.revokeAdmin(OPERATOR, id), 403],
    ['banned', (id) => services.userAdministration.ban(OPERATOR, id), 401],
    ['revoked', (id) => services.sessions.revokeAll(OPERATOR, id), 401],
  ]
  for (const [name, revoke, status] of revocations) {
    const second = await admin(service)
    const theirs = await signIn(app, second)
    const stalled = [
      submit(`/console/users/${mia.id}/make-admin`, { x: 'x' }, theirs),
      submit(`/console/users/${mia.id}/delete`, { x: 'x' }, theirs),
      submit('/console/users/new', { email: 'new@example.com', first_name: 'New', last_name: 'User', password: second.password }, theirs),
    ].map((form) => stall(app, form))
    for (const { accepted } of stalled) await accepted
    await revoke(second.id)
    for (const { finish } of stalled) assert.equal((await finish()).statusCode, status, name)
  }
  assert.equal((await services.userAdministration.find(mia.id)).role, 'user')
  await assert.rejects(services.userAdministration.findByEmail('new@example.com'), { code: 'user_not_found' })
})

test('303, 400, 422: an admin edits the names, the address and the verification of a user', async (t) => {
  const stage = await start(t)
  const { service, press, look, boss, services } = stage
  const mia = await member(service, { email: 'mia@example.com', firstName: 'Mia', lastName: 'Moss' })
  const page = await look(`${mia.id}/edit`)
  assert.match(page.body, /name="email" type="email" autocomplete="off" value="mia@example.com"/)
  const fields = { email: 'mia@example.com', first_name: 'Mia', last_name: 'Moss', verified: 'yes' }
  const noticeOf = async (changed: Record<string, string>) => {
    const { statusCode, headers } = await press(`${mia.id}/edit`, { ...fields, ...changed })
    return [statusCode, /latchkey-notice=([\w-]+)/.exec(String(headers['set-cookie']))?.[1]]
  }
  assert.deepEqual(await noticeOf({}), [303, 'user-unchanged'])
  assert.deepEqual(await noticeOf({ email: 'moss@example.com', first_name: 'Mina', verified: 'no' }), [303, 'user-saved'])
  const { email, firstName, lastName, verified } = await services.userAdministration.find(mia.id)
  assert.deepEqual([email, firstName, lastName, verified], ['moss@example.com', 'Mina', 'Moss', false])
  assert.equal(events(stage).at(-1), `user.edited ${boss.id} ${mia.id}`)
  const taken = await press(`${mia.id}/edit`, { ...fields, email: boss.email })
  assert.equal(taken.statusCode, 400)
  assert.match(taken.body, /value="boss@example.com"/)
  const { verified: isVerified, firstName: name } = await services.userAdministration.find(mia.id)
  assert.deepEqual([isVerified, name], [false, 'Mina'], 'all of an edit is saved, or nothing')
  assert.equal((await press(`${mia.id}/edit`, { ...fields, email: 'x' })).statusCode, 422)
  assert.equal((await press('999999/edit', fields)).statusCode, 404)
  const own = await press(`${boss.id}/edit`, { email: boss.email, first_name: 'Boss', last_name: 'Boss', verified: 'no' })
  assert.deepEqual([own.statusCode, (await services.userAdministration.find(boss.id)).verified], [400, true])
})

test('303: End all sessions ends those of the user, and says how it went', async (t) => {
  const { service, boss, press, services, look } = await start(t)
  const mia = await member(service)
  await signIn(service.app, mia)
  assert.match(
    textOf(await look(String(mia.id))),
    /End all sessions… End all sessions of .*\? They have to sign in again everywhere\. This cannot be undone\./,
  )
  const ended = await press(`${mia.id}/sessions/end-all`)
  assert.match(String(ended.headers['set-cookie']), /latchkey-notice=user-sessions-ended/)
  assert.deepEqual(await services.sessions.list(mia.id), [])
  await signIn(service.app, boss)
  const own = await press(`${boss.id}/sessions/end-all`)
  assert.match(String(own.headers['set-cookie']), /latchkey-notice=own-sessions-ended/)
  assert.equal((await services.sessions.list(boss.id)).length, 1, 'the session of the caller stays')
})

test('200: no reset is offered for a banned account, which gets no mail', async (t) => {
  const { service, press, look } = await start(t)
  const mia = await member(service)
  await press(`${mia.id}/ban`)
  assert.doesNotMatch((await look(String(mia.id))).body, /send-reset/)
})

test('303: an admin invites somebody, sends the link again and withdraws it', async (t) => {
  const { press, look, services } = await start(t)
  const fields = { email: 'ida@example.com', first_name: 'Ida', last_name: 'Invited' }
  const invited = await press('invite', fields)
  assert.deepEqual([invited.statusCode, invited.headers.location], [303, '/console/users/invite'])
  const page = textOf(await look('invite'))
  assert.match(page, /Open invitations .* ida@example\.com Ida Invited User .* Withdraw… Withdraw the invitation of ida@example\.com \?/)
  const { value: [invitation] = [] } = await services.invitations.list(OPERATOR).next()
  assert.match(String((await press(`invite/${invitation?.id}/resend`)).headers['set-cookie']), /invitation-resent/)
  assert.match(String((await press(`invite/${invitation?.id}/withdraw`)).headers['set-cookie']), /invitation-withdrawn/)
  assert.match(textOf(await look('invite')), /No open invitations/)
  assert.equal((await press(`invite/${invitation?.id}/resend`)).statusCode, 404)
})

test('303, 403, 422: an invitation of an admin asks first, and for the password', async (t) => {
  const { service, press, look, services } = await start(t)
  const fields = { email: 'ida@example.com', first_name: 'Ida', last_name: 'Invited' }
  const roles = async () => {
    const found: string[] = []
    for await (const page of services.invitations.list(OPERATOR)) found.push(...page.map(({ role }) => role))
    return found
  }
  assert.match(textOf(await look('invite')), /Invite as admin… Invite this person as an admin\? They can change and delete every account/)
  assert.equal((await press('invite', { ...fields, role: 'owner' })).statusCode, 422)
  assert.equal((await press('invite', { ...fields, role: 'admin' })).statusCode, 303)
  assert.deepEqual(await roles(), ['admin'])
  service.clock.advance({ minutes: 11 })
  const asked = await press('invite', { ...fields, email: 'ada@example.com', role: 'admin' })
  assert.equal(asked.statusCode, 403)
  assert.match(textOf(asked), /Enter it again to invite an admin/)
  assert.equal((await press('invite', { ...fields, email: 'user@example.com', role: 'user' })).statusCode, 303)
  assert.deepEqual(await roles(), ['user', 'admin'])
})
