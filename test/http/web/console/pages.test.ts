import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { enqueueMail } from '../../../../src/storage/repositories/mail/mail.repository.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { eventually } from '../../../support/app/eventually.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { rows } from '../../../support/documents.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { credentials, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { freePort } from '../../../support/servers/free-port.ts'

const MARKUP = '</td><script>alert(1)</script>"\'>'
const GIVE_UP = statement('update outbox set failed_at = $2, attempts = 3, last_error = $3 where recipient = $1')
const FIND_MAIL = statement<{ id: number; failed_at: number | null; attempts: number }>(
  'select id, failed_at, attempts from outbox where recipient = $1',
)

async function start(t: Parameters<typeof startApp>[0], env: Record<string, string> = {}) {
  const service = await startApp(t, { env })
  const boss = await admin(service, { email: 'boss@example.com' })
  const cookie = await signIn(service.app, boss)
  const look = async (path: string) => {
    const response = await service.app.inject(visit(`/console${path}`, cookie))
    assert.equal(response.statusCode, 200, response.body)
    return response
  }
  const press = (path: string, fields: Record<string, string> = {}) => service.app.inject(submit(`/console${path}`, fields, cookie))
  return { ...service, service, boss, look, press }
}

test('200: the overview counts users by status, new users by day, and mails', async (t) => {
  const { service, look, clock, services, db } = await start(t)
  clock.advance({ hours: 5 })
  await member(service, { verified: false })
  await services.userAdministration.ban(OPERATOR, (await member(service)).id)
  await enqueueMail(db, 'reset', 'mia@example.com', clock.now())
  await db.run(GIVE_UP, 'mia@example.com', clock.now(), 'refused')
  clock.advance({ minutes: 2 })
  const page = await look('/')
  assert.match(textOf(page), /Users 3 Active 1 Unverified 1 Banned 1 Admins 1/)
  assert.match(textOf(page), /New users 3 in 7 days, 3 in 30 days/)
  assert.match(textOf(page), /1 email could not be delivered/)
  assert.equal(page.body.split('<g><title>').length - 1, 30)
  assert.match(textOf(page), /Checks/)
})

test('303: a new user is verified at once, and can sign in', async (t) => {
  const { app, press, look, services } = await start(t)
  await look('/users/new')
  const fields = { email: 'New@Example.com', first_name: 'New', last_name: 'User', password: 'correct horse battery' }
  const created = await press('/users/new', fields)
  assert.equal(created.statusCode, 303)
  const id = Number(/^\/console\/users\/(\d+)$/.exec(String(created.headers.location))?.[1])
  const { verified, role, email } = await services.userAdministration.find(id)
  assert.deepEqual({ verified, role, email }, { verified: true, role: 'user', email: 'New@example.com' })
  assert.equal((await app.inject(submit('/account/sign-in', credentials(fields)))).statusCode, 303)
})

test('400, 422: a form that cannot be accepted is shown again with its values, but without the password', async (t) => {
  const { press, services, boss } = await start(t, { PASSWORD_BLOCKLIST: 'common' })
  const fields = { email: 'new@example.com', first_name: 'New', last_name: 'User', password: 'correct horse battery' }
  const cases: [Record<string, string>, number, RegExp][] = [
    [{ ...fields, email: boss.email }, 400, /There is already an account with this email address/],
    [{ ...fields, email: 'nonsense' }, 422, /Enter a valid email address/],
    [{ ...fields, password: 'shrt' }, 422, /Password should have at least 8 characters/],
    [{ ...fields, password: 'password1' }, 422, /This password is on a list of breached passwords/],
    [{ ...fields, first_name: ' ' }, 422, /First name is required/],
    [{ ...fields, last_name: MARKUP.repeat(5) }, 422, /Last name should have at most 100 characters/],
    [{}, 422, /is required/],
  ]
  for (const [sent, status, message] of cases) {
    const response = await press('/users/new', sent)
    assert.equal(response.statusCode, status)
    assert.match(textOf(response), message)
    if (sent['last_name'] === 'User') assert.match(response.body, /name="last_name"[^>]* value="User"/)
    assert.ok(!response.body.includes('<script>alert'))
    if (sent['password'] !== undefined) assert.ok(!response.body.includes(sent['password']))
  }
  await assert.rejects(services.userAdministration.findByEmail('new@example.com'), { code: 'user_not_found' })
})

test('200: a pasted key shows its owner and whether it works, and is not repeated or counted as used', async (t) => {
  const { service, press, services, clock, look } = await start(t)
  const mia = await member(service, { email: 'mia@example.com' })
  const { key, keyId } = await keyHolder(service, mia, { expiresAt: clock.now() + 60_000 })
  const live = await press('/keys', { key: `  ${key} ` })
  assert.equal(live.statusCode, 200)
  assert.match(textOf(live), new RegExp(`Owner mia@example\\.com Status Active Key ID ${keyId}`))
  assert.ok(!live.body.includes(key))
  clock.advance({ minutes: 2 })
  assert.match(textOf(await press('/keys', { key })), /Status Expired/)
  assert.equal((await services.apiKeys.find(mia.id, keyId)).lastUsedAt, undefined)
  await services.apiKeys.edit(OPERATOR, mia.id, keyId, { isActive: false })
  assert.match(textOf(await press('/keys', { key })), /Status Disabled/)
  for (const wrong of ['lk_nonsense', MARKUP, key.slice(0, -1)]) {
    const response = await press('/keys', { key: wrong })
    assert.match(textOf(response), /No key of this service has this secret/)
    assert.ok(!response.body.includes('<script>alert'))
  }
  assert.match(textOf(await look('/keys')), /Expired .*key of a test.*mia@example\.com/)
  assert.ok(!service.logged.some((line) => line.includes(key)))
})

test('200: expired keys and keys that nobody has used for 90 days are listed', async (t) => {
  const { service, clock, look, services } = await start(t)
  const mia = await member(service)
  const names = async (title: string) => {
    const { body } = await look('/keys')
    const section = body.slice(body.indexOf(`>${title}</h2>`)).split('</section>')[0] ?? ''
    return [...section.matchAll(/class="main"[^>]*>([^<]*)</g)].map(([, name]) => name)
  }
  await keyHolder(service, mia, { name: 'never used' })
  const { keyId } = await keyHolder(service, mia, { name: 'disabled' })
  await keyHolder(service, mia, { name: MARKUP, expiresAt: clock.now() + 1000 })
  assert.deepEqual([await names('Expired'), await names('Unused')], [[], []])
  await services.apiKeys.edit(OPERATOR, mia.id, keyId, { isActive: false })
  clock.advance({ days: 91 })
  // The session of the admin has ended by now.
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const text = textOf(await service.app.inject(visit('/console/keys', cookie)))
  assert.match(text, /Expired .*alert\(1\).*Unused .*never used/)
  assert.ok(!text.slice(text.indexOf('Expired API key')).includes('disabled'))
})

test('303: failed mails are listed with their reason, sent again or discarded, once', async (t) => {
  const { look, press, db, clock } = await start(t)
  for (const recipient of ['one@example.com', 'two@example.com', 'three@example.com'])
    await enqueueMail(db, 'reset', recipient, clock.now())
  await db.run(GIVE_UP, 'one@example.com', clock.now(), `550 ${MARKUP}`)
  await db.run(GIVE_UP, 'two@example.com', clock.now(), 'no such user')
  const failed = await look('/mail?status=failed')
  assert.match(textOf(failed), /two@example\.com reset Failed just now .* no such user .*one@example\.com .* 550 <\/td><script>/)
  assert.ok(!failed.body.includes('<script>alert') && !textOf(failed).includes('three@'))
  assert.match(textOf(await look('/mail')), /three@example\.com reset Due/)

  const one = await db.first(FIND_MAIL, 'one@example.com')
  const retried = await press(`/mail/${one?.id}/retry`)
  assert.deepEqual([retried.statusCode, retried.headers.location], [303, '/console/mail'])
  assert.deepEqual(await db.first(FIND_MAIL, 'one@example.com'), { id: one?.id, failed_at: null, attempts: 0 })
  const two = await db.first(FIND_MAIL, 'two@example.com')
  assert.match(String((await press(`/mail/${two?.id}/discard`)).headers['set-cookie']), /^latchkey-notice=mail-discarded/)
  assert.equal(await db.first(FIND_MAIL, 'two@example.com'), undefined)
  for (const action of ['retry', 'discard'])
    assert.match(String((await press(`/mail/${two?.id}/${action}`)).headers['set-cookie']), /^latchkey-notice=mail-gone/)
})

test('200: the outbox has pages', async (t) => {
  const { look, db, clock } = await start(t)
  for (let n = 0; n < 20; n++) await enqueueMail(db, 'reset', `user${n}@example.com`, clock.now())
  const first = await look('/mail')
  const next = /rel="next" href="\/console([^"]*)"/.exec(first.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const second = await look(next)
  assert.deepEqual([first.body.split('class="main"').length - 1, second.body.split('class="main"').length - 1], [10, 10])
  assert.match(textOf(second), /user0@example\.com/)
})

test('200: settings are shown by their names, and secrets only as set or not set', async (t) => {
  const { look } = await start(t, {
    SMTP_URL: 'smtp://user:smtp-password@mail.example.com',
    MAIL_FROM: 'a@example.com',
    API_TITLE: MARKUP.slice(0, 40),
    RATE_LIMITS: 'login:ip=30/m,mail:account=5/d',
  })
  const { body } = await look('/settings')
  const shown = [...body.matchAll(/<code class="main">(\w+)<\/code>/g)].map(([, name]) => name)
  assert.deepEqual(
    shown.sort(),
    rows('docs/settings.md', 'Settings')
      .map(([name]) => name)
      // Those of one provider. The page shows which providers there are.
      .filter((name) => !name?.includes('<NAME>'))
      .sort(),
  )
  const row = (name: string) => new RegExp(`<tr><td><code class="main">${name}</code>(.*?)</tr>`, 's').exec(body)?.[1] ?? ''
  assert.match(row('RATE_LIMITS'), /<span class="mono wrap">login:ip=30\/m, mail:account=5\/d</)
  assert.match(
    row('RATE_LIMITS'),
    /or a list such as <code>login:ip=30\/m<\/code>; see <a href="\/console\/settings\/docs\/settings\.md#rate-limits">rate limits<\/a>/,
  )
  // Every link leads to a heading that exists.
  for (const [, path = '', anchor] of body.matchAll(/href="\/console(\/settings\/docs\/[^"#]*)(?:#([^"]*))?"/g))
    assert.ok((await look(path)).body.includes(anchor === undefined ? '<article' : ` id="${anchor}"`), `${path}#${anchor}`)
  assert.match(row('SECRET_KEY'), /<span class="badge">set</)
  assert.match(row('SMTP_URL'), /<span class="badge">set<\/span> <span class="mono wrap">smtp:\/\/mail\.example\.com</)
  assert.match(row('SECRET_KEY_FALLBACKS'), /<span class="quiet">not set</)
  for (const group of ['Address and pages', 'Mail', 'Webhooks']) assert.match(body, new RegExp(`<h2 id="[a-z-]+">${group}</h2>`))
  assert.ok(!body.includes('smtp-password') && !body.includes('Zq3vT9xLk2') && !/@127\.0\.0\.1/.test(body))
  assert.ok(!body.includes('<script>alert'))
})

const INSERT_WEBHOOK = statement<{ id: number }>(`
  insert into webhook_deliveries (message_id, type, user_id, occurred_at, requested_at, due_at, attempts, last_error, failed_at)
  values ($1, 'user.banned', $2, $3, $3, $3, 3, $4, $5) returning id`)

test('200: the overview of a public service warns about each setting that is too weak for it', async (t) => {
  const { look } = await start(t, { BASE_URL: 'https://accounts.example.com', CORS_ORIGINS: 'https://app.example.com' })
  // The first visits may not wait for all checks.
  const text = await eventually('the checks are done', async () => {
    const shown = textOf(await look('/'))
    return /Checks \d+ passed/.test(shown) ? shown : undefined
  })
  assert.match(text, /production: RATE_LIMITS is off: .* Set RATE_LIMITS to standard\. Warning/)
  assert.match(text, /production: PASSWORD_BLOCKLIST is none: .* Set PASSWORD_BLOCKLIST to common\. Warning/)
  assert.match(text, /production: SECOND_FACTOR is optional: .* Set SECOND_FACTOR to admins\. Warning/)
  assert.doesNotMatch(text, /production: CORS_ORIGINS/)
})

test('200: the overview is not content with mail while the mail server cannot be used, also before a mail has failed', async (t) => {
  const { look } = await start(t, { SMTP_URL: `smtp://127.0.0.1:${await freePort()}` })
  const page = await eventually('the checks are done', async () => {
    const shown = await look('/')
    return /Checks \d+ passed/.test(textOf(shown)) ? shown : undefined
  })
  assert.match(textOf(page), /Mail The mail server cannot be used: no answer: connect ECONNREFUSED .* \(nothing listens on this port\)/)
  assert.doesNotMatch(page.body, /notice good/)
})

test('200: the webhooks say when they are off', async (t) => {
  const off = await start(t)
  assert.match(textOf(await off.look('/webhooks')), /Webhooks are off: WEBHOOK_URL is not set, so nothing is sent/)
  const on = await start(t, {
    WEBHOOK_URL: 'https://hooks.example.com/in',
    WEBHOOK_SECRET: 'whsec_kL7aPz0nT2wVbXq5Jc8dRfYgHs3uMe1o',
  })
  assert.doesNotMatch(textOf(await on.look('/webhooks')), /Webhooks are off/)
})

test('303: webhooks that failed are listed with their reason, sent again or discarded, once', async (t) => {
  const { look, press, db, clock, boss } = await start(t)
  assert.match(textOf(await look('/webhooks')), /Nothing is waiting/)
  const ids: number[] = []
  for (const name of ['one', 'two', 'three']) {
    const row = await db.first(INSERT_WEBHOOK, name, boss.id, clock.now(), `500 ${MARKUP}`, name === 'three' ? null : clock.now())
    ids.push(row?.id ?? 0)
  }
  const failed = await look('/webhooks?status=failed')
  assert.equal(failed.body.split('<code>user.banned</code>').length - 1, 2)
  assert.ok(!failed.body.includes('<script>alert'))
  assert.equal((await look('/webhooks')).body.split('<code>user.banned</code>').length - 1, 3)
  const notices: string[] = []
  for (const path of [`${ids[0]}/retry`, `${ids[1]}/discard`, `${ids[1]}/discard`, `${ids[1]}/retry`, 'resume']) {
    const { statusCode, headers } = await press(`/webhooks/${path}`)
    assert.equal(statusCode, 303)
    notices.push(/^latchkey-notice=([\w-]+)/.exec(String(headers['set-cookie']))?.[1] ?? '')
  }
  assert.deepEqual(notices, ['webhook-retried', 'webhook-discarded', 'webhook-gone', 'webhook-gone', 'webhooks-resumed'])
  assert.equal((await look('/webhooks')).body.split('<code>user.banned</code>').length - 1, 2)
})
