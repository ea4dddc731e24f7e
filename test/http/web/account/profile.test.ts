import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import type { InjectOptions } from 'fastify'
import type { ApiKey } from '../../../../src/model/api-key.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { type StartOptions, startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../../support/http/origins.ts'
import { sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

const IP = '192.0.2.7'

async function start(t: Parameters<typeof startApp>[0], env: StartOptions['env'] = {}) {
  const service = await startApp(t, { env })
  const mia = await member(service, { email: 'mia@example.com' })
  const cookie = await signIn(service.app, mia)
  const look = (path: string, by = cookie) => service.app.inject(visit(`/account/${path}`, by))
  const send = (path: string, fields: Record<string, string> = {}, by = cookie) =>
    service.app.inject(submit(`/account/${path}`, fields, by))
  const user = () => service.services.userAdministration.find(mia.id)
  return { ...service, service, mia, cookie, look, send, user }
}

/** The events of the log, with the way they came. */
function events(logged: readonly string[]): string[] {
  const lines = logged.map((line) => JSON.parse(line) as { event?: string; via?: string })
  return lines.filter(({ event }) => event !== undefined).map(({ event, via }) => `${event} ${via}`)
}

test('303: a new name is saved, and its event came by http', async (t) => {
  const { send, look, user, logged } = await start(t)
  const saved = await send('', { first_name: ' Amelia ', last_name: 'Meier' })
  assert.deepEqual([saved.statusCode, saved.headers.location], [303, '/account/'])
  const { firstName, lastName, email } = await user()
  assert.deepEqual([firstName, lastName, email], ['Amelia', 'Meier', 'mia@example.com'])
  assert.equal(events(logged).at(-1), 'user.edited http')
  assert.match((await look('')).body, /name="first_name"[^>]* value="Amelia"/)
  const bad = await send('', { first_name: '', last_name: 'Meier' })
  assert.equal(bad.statusCode, 422)
  assert.match(textOf(bad), /First name is required/)
  assert.equal((await user()).firstName, 'Amelia')
})

test('303: a new address takes effect when the link that is mailed to it is opened', async (t) => {
  const { service, app, send, user, mailbox } = await start(t)
  const asked = await send('email', { email: 'amelia@example.com' })
  assert.equal(asked.statusCode, 303)
  assert.match(String(asked.headers['set-cookie']), /^latchkey-notice=address-mailed;/)
  assert.equal((await user()).email, 'mia@example.com')
  const code = await mailbox.codeFor('amelia@example.com')
  assert.equal((await app.inject(`/confirm-email/?code=${code}`)).statusCode, 200)
  assert.equal((await user()).email, 'amelia@example.com')
  const other = await member(service)
  const taken = await send('email', { email: other.email })
  assert.equal(taken.statusCode, 400)
  assert.match(textOf(taken), /There is already an account with this email address/)
  assert.equal((await send('email', { email: 'x' })).statusCode, 422)
  assert.equal((await send('email', { email: 'amelia@example.com' })).headers.location, '/account/')
})

test('403: the password is asked for again before the address changes, ten minutes after it was given', async (t) => {
  const { send, clock, mia, mailbox } = await start(t)
  clock.advance({ minutes: 11 })
  const asked = await send('email', { email: 'evil@example.com' })
  assert.equal(asked.statusCode, 403)
  assert.match(textOf(asked), /Enter it again to change your address\./)
  assert.match(asked.body, /<input type="hidden" name="email" value="evil@example.com">/)
  assert.equal((await send('email', { email: 'evil@example.com', password: 'wrong' })).statusCode, 400)
  assert.equal(await mailbox.countFor('evil@example.com'), 0)
  assert.equal((await send('email', { email: 'evil@example.com', password: mia.password })).statusCode, 303)
  assert.equal(await mailbox.countFor('evil@example.com'), 1)
})

test('429: a limit on mails is explained by the form of the address, which does not ask for a password that was given', async (t) => {
  const { send, clock, mia } = await start(t, { RATE_LIMITS: 'mail:ip=1/h' })
  assert.equal((await send('email', { email: 'one@example.com' })).statusCode, 303)
  const limited = await send('email', { email: 'two@example.com' })
  assert.equal(limited.statusCode, 429)
  assert.match(textOf(limited), /Too many attempts\. Try again in/)
  assert.doesNotMatch(textOf(limited), /Confirm your password/)
  clock.advance({ minutes: 11 })
  const confirmed = await send('email', { email: 'two@example.com', password: mia.password })
  assert.equal(confirmed.statusCode, 429)
  assert.doesNotMatch(textOf(confirmed), /Confirm your password/)
})

test('303: a new password needs the current one, ends every session and opens a new one for this browser', async (t) => {
  const { app, send, look, mia, services } = await start(t)
  const other = await signIn(app, mia)
  const passwords = { current_password: mia.password, new_password: 'a brand new one', confirm_password: 'a brand new one' }
  const refused: [Record<string, string>, RegExp][] = [
    [{ ...passwords, current_password: 'wrong' }, /This is not your current password/],
    [{ ...passwords, current_password: 'x'.repeat(300) }, /This is not your current password/],
    [{ ...passwords, confirm_password: 'another one' }, /The two passwords are not the same/],
    [{ ...passwords, new_password: 'short', confirm_password: 'short' }, /New password should have at least 8 characters/],
    [{ new_password: 'a brand new one', confirm_password: 'a brand new one' }, /is required/],
  ]
  for (const [fields, message] of refused) {
    const response = await send('password', fields)
    assert.equal(response.statusCode, 422, JSON.stringify(fields))
    assert.match(textOf(response), message)
    assert.ok(!/value="[^"]*(?:brand|short|wrong)/.test(response.body), 'a password is sent back')
  }
  assert.equal((await look('', other)).statusCode, 200)
  const changed = await send('password', passwords)
  assert.deepEqual([changed.statusCode, changed.headers.location], [303, '/account/password'])
  assert.equal((await look('', other)).statusCode, 303)
  assert.equal((await look('', sessionCookie(changed))).statusCode, 200)
  assert.equal((await services.sessions.list(mia.id)).length, 1)
  await assert.rejects(signIn(app, mia))
  await signIn(app, { email: mia.email, password: 'a brand new one' })
})

test('303: a copy of the cookie ends with the password, and the new session knows its browser', async (t) => {
  const { app, clock, db, send, mia, services } = await start(t)
  const browser = { 'user-agent': 'Firefox of Mia' }
  const from = (request: InjectOptions): InjectOptions => ({ ...request, headers: { ...request.headers, ...browser }, remoteAddress: IP })
  const copied = sessionCookie(await app.inject(from(submit('/account/sign-in', { email: mia.email, password: mia.password }))))
  const [old] = (await services.sessions.list(mia.id)).filter(({ ip }) => ip === IP)
  clock.advance({ minutes: 11 })
  const passwords = { current_password: mia.password, new_password: 'a brand new one', confirm_password: 'a brand new one' }
  const changed = await app.inject(from(submit('/account/password', passwords, copied)))
  assert.equal(changed.statusCode, 303)

  const read = await app.inject(visit('/account/', copied))
  assert.deepEqual([read.statusCode, read.headers.location], [303, '/account/sign-in'], 'the copy reads nothing')
  assert.equal((await send('', { first_name: 'Eve', last_name: 'Eve' }, copied)).statusCode, 401, 'the copy changes nothing')

  const [session, ...others] = await services.sessions.list(mia.id)
  assert.deepEqual(others, [])
  assert.notEqual(session?.id, old?.id)
  assert.deepEqual([session?.ip, session?.userAgent, session?.createdAt], [IP, 'Firefox of Mia', clock.now()])
  const events = (await storedEvents(db)).slice(-3).map(({ kind, actor, target, detail }) => [kind, actor, target, detail])
  assert.deepEqual(events, [
    ['user.password_changed', mia.id, mia.id, null],
    ['session.revoked', mia.id, mia.id, JSON.stringify({ session_id: old?.id })],
    ['session.created', mia.id, mia.id, JSON.stringify({ session_id: session?.id })],
  ])
  // The browser stays signed in, and its password counts as given now.
  const renewed = sessionCookie(changed)
  assert.equal((await app.inject(visit('/account/', renewed))).statusCode, 200)
  assert.equal((await send('email', { email: 'amelia@example.com' }, renewed)).statusCode, 303)
})

test('401 or 422: of two new passwords at once in one session, one is accepted', async (t) => {
  const { send, mia, app } = await start(t)
  const change = (password: string) =>
    send('password', { current_password: mia.password, new_password: password, confirm_password: password })
  const changed = await Promise.all(['a brand new one', 'another new one'].map(change))
  // The later one finds that its session has ended or, if it read the account later, that its current password is wrong.
  const [accepted, refused = 0] = changed.map(({ statusCode }) => statusCode).sort()
  assert.ok(accepted === 303 && [401, 422].includes(refused), `${accepted} ${refused}`)
  const [first] = changed
  await signIn(app, { email: mia.email, password: first?.statusCode === 303 ? 'a brand new one' : 'another new one' })
})

test('429: guessing the current password counts like signing in', async (t) => {
  const { send } = await start(t)
  const guess = () =>
    send('password', { current_password: 'a guess', new_password: 'a brand new one', confirm_password: 'a brand new one' })
  for (let n = 0; n < 10; n++) assert.equal((await guess()).statusCode, 422)
  const limited = await guess()
  assert.equal(limited.statusCode, 429)
  assert.ok(Number(limited.headers['retry-after']) > 0)
})

test('200: many sessions are shown in pages', async (t) => {
  const { mia, look, services } = await start(t)
  for (let n = 0; n < 25; n++) await services.login.api.byPassword(ORIGIN, mia.email, mia.password)
  assert.equal((await services.sessions.list(mia.id)).length, 27)
  const [first, second] = [await look('sessions'), await look('sessions?page=2')]
  const count = ({ body }: { body: string }) => body.split('class="main"').length - 1
  assert.deepEqual([count(first), count(second)], [25, 2])
  assert.match(first.body, /rel="next" href="\/account\/sessions\?page=2"/)
  assert.match(second.body, /rel="prev" href="\/account\/sessions\?page=1"/)
  assert.ok(!second.body.includes('rel="next"'))
  for (const { body } of [first, second]) assert.match(body, /End all other sessions…/)
  assert.equal((await look('sessions?page=0')).statusCode, 422)
})

test('303: sessions are listed and ended, but only own ones', async (t) => {
  const { service, app, send, look, mia, cookie } = await start(t)
  const other = await signIn(app, mia)
  const stranger = await member(service)
  const [strange] = await service.services.sessions.list(stranger.id)
  assert.equal((await send(`sessions/${strange?.id}/revoke`)).statusCode, 404)
  const buttons = (body: string) => [...body.matchAll(/action="\/account\/sessions\/([\w-]+)\/revoke"/g)].map(([, id]) => id ?? '')
  const listed = buttons((await look('sessions')).body)
  assert.equal(listed.length, 2, 'one of the page in another browser, one of the API; the own one has no button')
  for (const id of listed) assert.equal((await send(`sessions/${id}/revoke`)).headers.location, '/account/sessions')
  assert.equal((await look('', other)).statusCode, 303)
  assert.equal((await look('', cookie)).statusCode, 200)
  const again = await signIn(app, mia)
  assert.equal((await send('sessions/revoke-others')).statusCode, 303)
  assert.equal((await look('', again)).statusCode, 303)
  assert.equal((await service.services.sessions.list(stranger.id)).length, 1)
})

test('each change on the account pages leaves its event, which names the user', async (t) => {
  const { send, service, services, mia, cookie, app } = await start(t, { SELF_DELETION: 'true' })
  const former = new Set((await services.sessions.list(mia.id)).map(({ id }) => id))
  const other = await signIn(app, mia)
  const session = (await services.sessions.list(mia.id)).find(({ id }) => !former.has(id))?.id
  const recorded = async () => {
    const lines = service.logged.map((line) => JSON.parse(line) as { event?: string; via?: string; actor?: number; target?: number })
    return lines.filter(({ event }) => event !== undefined).map(({ event, via, actor, target }) => `${event} ${via} ${actor} ${target}`)
  }
  await send('keys', { name: 'one' })
  const keys: ApiKey[] = []
  for await (const found of await services.apiKeys.list(OPERATOR, mia.id)) keys.push(...found)
  const [key] = keys
  const steps: [string, Record<string, string>, string][] = [
    ['keys', { name: 'two' }, 'key.created'],
    [`keys/${key?.id}/rotate`, {}, 'key.rotated'],
    [`keys/${key?.id}/disable`, {}, 'key.changed'],
    [`keys/${key?.id}/enable`, {}, 'key.changed'],
    [`keys/${key?.id}/delete`, {}, 'key.revoked'],
    ['', { first_name: 'Amelia', last_name: 'Meier' }, 'user.edited'],
    ['email', { email: 'new@example.com' }, 'mail.requested'],
    [`sessions/${session}/revoke`, {}, 'session.revoked'],
    ['sessions/revoke-others', {}, 'session.revoked'],
    [
      'password',
      { current_password: mia.password, new_password: 'a brand new one', confirm_password: 'a brand new one' },
      'user.password_changed',
    ],
    ['delete', { password: 'a brand new one' }, 'user.deleted'],
  ]
  let current = cookie
  for (const [path, fields, event] of steps) {
    if (path === 'sessions/revoke-others') await signIn(app, mia)
    const before = (await recorded()).length
    const response = await send(path, fields, current)
    assert.ok([200, 303].includes(response.statusCode), path)
    if (path === 'password') current = sessionCookie(response)
    assert.ok(
      (await recorded()).slice(before).includes(`${event} http ${mia.id} ${mia.id}`),
      `${path}: ${(await recorded()).slice(before)}`,
    )
  }
  assert.equal((await app.inject(visit('/account/', other))).statusCode, 303)
})

test('200: leaving deletes the account and clears the cookie, with the right password only', async (t) => {
  const { send, look, mia, services, service, app } = await start(t, { SELF_DELETION: 'true' })
  const wrong = await send('delete', { password: 'wrong' })
  assert.equal(wrong.statusCode, 400)
  assert.match(wrong.body, /<details class="confirm" open>/)
  assert.match(textOf(wrong), /Password This is not your password/)
  const left = await send('delete', { password: mia.password })
  assert.equal(left.statusCode, 200)
  assert.match(textOf(left), /Goodbye Your account has been deleted/)
  assert.match(String(left.headers['set-cookie']), /^latchkey=; Max-Age=0;/)
  await assert.rejects(services.userAdministration.find(mia.id))
  assert.equal((await look('')).statusCode, 303)
  const boss = await admin(service)
  const refused = await app.inject(submit('/account/delete', { password: boss.password }, await signIn(app, boss)))
  assert.equal(refused.statusCode, 400)
  assert.match(textOf(refused), /The last admin cannot be deleted/)
})

plainTest('404: without SELF_DELETION nobody can leave, and no page offers it', async (t) => {
  const { send, look, mia } = await start(t)
  assert.ok(!(await look('')).body.includes('/account/delete'))
  assert.equal((await send('delete', { password: mia.password })).statusCode, 404)
})
