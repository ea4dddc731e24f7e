import assert from 'node:assert/strict'
import { MailError } from '../../../../src/delivery/mail/transport.ts'
import { createHousekeeping } from '../../../../src/domain/operations/housekeeping.ts'
import { statement } from '../../../../src/storage/database.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../../support/http/origins.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { createInstantTransport, openPostOffice } from '../../../support/servers/post-office.ts'

const INSERT = `insert into mail_history (mail_id, kind, recipient, requested_at, at, attempts, errors)
  select n, 'reset', 'a@b.io', $1, $1, 1, '[]' from`
const FILL = statement({
  postgres: `${INSERT} generate_series(1, 1200) as n`,
  sqlite: `${INSERT} (with recursive s (n) as (select 1 union all select n + 1 from s where n < 1200) select n from s)`,
})
const ROWS = statement<Record<string, unknown>>('select * from mail_history order by id')

async function start(t: Parameters<typeof startApp>[0]) {
  const transport = createInstantTransport()
  const service = await startApp(t, { mailTransport: transport })
  const { dispatcher } = openPostOffice(service, transport)
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const look = async (path: string) => textOf(await service.app.inject(visit(`/console${path}`, cookie)))
  return { ...service, transport, dispatcher, cookie, look }
}

test('200: the history of a mail shows its attempts with their errors, and the answer of the server, and never its content', async (t) => {
  const service = await start(t)
  const { db, clock, services, transport, dispatcher, look } = service
  const mia = await member(service, { email: 'Mia@example.com' })
  transport.error = new MailError('server', 'no answer: connect ECONNREFUSED')
  await services.userAdministration.sendPasswordReset(OPERATOR, mia.id)
  assert.match(await look('/mail?to=mia%40example.com'), /Mail to mia@example\.com .* Waiting just now 0 not tried yet/)
  for (let attempt = 0; attempt < 2; attempt++) {
    await dispatcher.drain()
    clock.advance({ seconds: 15 })
  }
  const failing = await look('/mail?to=MIA%40example.com')
  assert.match(failing, /mia@example\.com reset Waiting just now 2 2 times until .* UTC : no answer: connect ECONNREFUSED/)
  assert.match(await look('/'), /1 email was not accepted and is retried: no answer: connect ECONNREFUSED\. See why/)
  assert.doesNotMatch(await look('/'), /No email has failed/)

  transport.error = undefined
  await dispatcher.drain()
  const delivered = /mia@example\.com reset Delivered just now 3 2 times until .*: no answer: .* UTC : 250 OK/
  assert.match(await look('/mail'), delivered)
  assert.match(await look(`/users/${mia.id}`), delivered)
  assert.match(await look('/'), /No email has failed/)
  const rows = JSON.stringify(await db.all(ROWS))
  const { link = '', text = '' } = transport.sent[0] ?? {}
  assert.ok(link.includes('code='))
  for (const secret of [link, new URL(link).searchParams.get('code') ?? '', text.slice(0, 40)]) assert.ok(!rows.includes(secret))
})

test('200: a mail that is given up, discarded or no longer needed says so', async (t) => {
  const service = await start(t)
  const { app, services, transport, dispatcher, look, cookie } = service
  transport.error = new MailError('recipient', 'RCPT TO was answered: 550 no such user')
  const lost = await member(service, { email: 'lost@example.com' })
  await services.userAdministration.sendPasswordReset(OPERATOR, lost.id)
  await dispatcher.drain()
  assert.match(await look('/mail?to=lost%40example.com'), /reset Failed just now 1 .* UTC : RCPT TO was answered: 550 no such user/)
  assert.match(await look('/'), /1 email could not be delivered/)

  transport.error = new MailError('server', 'no answer')
  await services.registration.register(ORIGIN, { email: 'new@example.com', password: 'correct horse', firstName: 'New', lastName: 'One' })
  const other = await member(service, { email: 'other@example.com' })
  await services.userAdministration.sendPasswordReset(OPERATOR, other.id)
  await dispatcher.drain()
  const { id } =
    (await services.mailAdministration.page('all', undefined, 10)).find(({ recipient }) => recipient === 'other@example.com') ?? {}
  assert.equal((await app.inject(submit(`/console/mail/${id}/discard`, {}, cookie))).statusCode, 303)
  assert.match(await look('/mail?to=other%40example.com'), /reset Discarded just now 1/)
  const { id: newId } = await services.userAdministration.findByEmail('new@example.com')
  await services.userAdministration.verify(OPERATOR, newId)
  transport.error = undefined
  service.clock.advance({ minutes: 1 })
  await dispatcher.drain()
  assert.match(await look('/mail?to=new%40example.com'), /verify Not needed 1 minute ago 1/)
  assert.equal(transport.sent.length, 0)
})

test('200: an address without an account leaves nothing in the history', async (t) => {
  const { services, db, dispatcher, look, transport } = await start(t)
  await services.passwordReset.request(ORIGIN, 'nobody@example.com')
  await dispatcher.drain()
  assert.equal(transport.sent.length, 0)
  assert.deepEqual(await db.all(ROWS), [])
  assert.match(
    await look('/mail?to=nobody%40example.com'),
    /No mail to this address A request for an address without an account sends nothing/,
  )
})

test('200: a mail that is requested appears at once, and one that an account does not need is marked as such', async (t) => {
  const service = await start(t)
  const { services, dispatcher, look, transport } = service
  const mia = await member(service, { email: 'mia@example.com' })
  for (const rounds of [1, 2]) {
    await services.registration.resendVerification(ORIGIN, mia.email)
    assert.match(await look('/mail'), /Outbox .* mia@example\.com verify Due just now 0 .* History/)
    for (const path of ['/mail?to=mia%40example.com', `/users/${mia.id}`])
      assert.match(await look(path), /mia@example\.com verify Waiting just now 0 not tried yet/, path)
    await dispatcher.drain()
    for (const path of ['/mail', '/mail?to=mia%40example.com', `/users/${mia.id}`])
      assert.equal((await look(path)).split('mia@example.com verify Not needed just now 0').length - 1, rounds, path)
  }
  assert.equal(transport.sent.length, 0)
})

test('200: the mails to one address have pages', async (t) => {
  const { db, clock, app, cookie, look } = await start(t)
  await db.run(FILL, clock.now())
  const { body } = await app.inject(visit('/console/mail?to=a%40b.io', cookie))
  const next = /rel="next" href="\/console([^"]*)"|href="\/console([^"]*)"[^>]*>Older/.exec(body)
  const path = (next?.[1] ?? next?.[2] ?? '').replaceAll('&amp;', '&').replace('#history', '')
  assert.match(path, /^\/mail\?past=\d+&to=a%40b\.io$/)
  assert.match(await look(path), /Mail to a@b\.io .* Newest Older/)
})

test('303: a test mail is sent at once, and the page says what the server answered', async (t) => {
  const { app, cookie, transport, look } = await start(t)
  const send = async (address: string) => {
    const sent = await app.inject(submit('/console/mail/test', { address }, cookie))
    const notice = [sent.headers['set-cookie'] ?? []].flat().find((header) => header.startsWith('latchkey-notice='))
    const path = String(sent.headers.location)
    return textOf(await app.inject(visit(path, `${cookie}; ${notice?.split(';')[0]}`)))
  }
  assert.match(await send('ops@example.com'), /The test mail was accepted\. .* ops@example\.com test Delivered just now 1 .*: 250 OK/)
  assert.equal(transport.sent[0]?.subject, 'Test mail from Latchkey')
  transport.error = new MailError('server', 'no answer: timeout')
  assert.match(await send('ops@example.com'), /The test mail was not accepted\. .* test Failed just now 1 .*: no answer: timeout/)
  const invalid = await app.inject(submit('/console/mail/test', { address: 'ops' }, cookie))
  assert.equal(invalid.statusCode, 422)
  assert.match(await look('/mail'), /Send a test mail/)
})

test('the history is deleted after 30 days, in batches', async (t) => {
  const { db, clock } = await start(t)
  await db.run(FILL, clock.now())
  const housekeeping = createHousekeeping(db, clock.now, (error) => assert.fail(String(error)))
  clock.advance({ days: 29 })
  await housekeeping.run()
  assert.equal((await db.all(ROWS)).length, 1200)
  clock.advance({ days: 1, seconds: 1 })
  await housekeeping.run()
  assert.equal((await db.all(ROWS)).length, 0)
})
