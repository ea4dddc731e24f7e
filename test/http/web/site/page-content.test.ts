import assert from 'node:assert/strict'
import { enqueueMail } from '../../../../src/storage/repositories/mail/mail.repository.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { until } from '../../../support/app/eventually.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { newEmail } from '../../../support/http/requests.ts'
import { routesDuring } from '../../../support/http/routes.ts'

async function start(t: Parameters<typeof startApp>[0]) {
  const { routes, started: service } = await routesDuring(() => startApp(t))
  const cookie = await signIn(service.app, await admin(service))
  const look = (path: string) => service.app.inject(visit(path, cookie))
  return { ...service, service, routes, look }
}

/** The labels of the buttons of a page. */
function buttonsOf({ body }: { body: string }): string[] {
  return [...body.matchAll(/<button[^>]*>([^<]+)<\/button>/g)].map(([, label = '']) => label)
}

test('200: every page has one stylesheet, at most one script and nothing inline, and a button to sign out', async (t) => {
  const { routes, look } = await start(t)
  const paths = [...routes].filter((name) => /^GET \/(?:console|account)[^:]*$/.test(name)).map((name) => name.slice('GET '.length))
  assert.ok(paths.length > 15, paths.join())
  for (const path of paths) {
    const page = await look(path)
    // Some only lead on.
    if (page.statusCode === 303) continue
    assert.equal(page.statusCode, 200, path)
    assert.equal(page.body.split('rel="stylesheet"').length - 1, 1, path)
    assert.equal(page.body.split('<script').length - 1, 1, path)
    assert.match(page.body, /<script defer src="\/assets\/\w+\/site\.js"><\/script>/)
    assert.doesNotMatch(page.body, / style=|<style| on\w+="/, path)
    const isLone = page.body.includes('<body class="lone">')
    assert.equal(/<form method="post" action="\/(?:console|account)\/sign-out">/.test(page.body), !isLone, path)
    assert.equal(buttonsOf(page).includes('Sign out'), !isLone || path === '/account/sign-out', path)
  }
})

test('405, 200: a link cannot sign anybody out', async (t) => {
  const { look } = await start(t)
  assert.equal((await look('/console/sign-out')).statusCode, 405)
  assert.equal((await look('/account/sign-out')).statusCode, 200)
  assert.equal((await look('/console/')).statusCode, 200)
})

test('200: the buttons have the labels that the documentation names', async (t) => {
  const { service, look, db, clock, services } = await start(t)
  const mia = await member(service, { verified: false })
  const user = () => look(`/console/users/${mia.id}`)
  for (const label of ['Verify', 'Ban', 'Make admin', 'Send password reset', 'Delete', 'Revoke'])
    assert.ok(buttonsOf(await user()).includes(label), label)
  assert.ok(!buttonsOf(await user()).includes('Unban'))
  await services.userAdministration.ban(OPERATOR, mia.id)
  assert.ok(buttonsOf(await user()).includes('Unban') && !buttonsOf(await user()).includes('Ban'))
  await enqueueMail(db, 'reset', 'mia@example.com', clock.now())
  for (const label of ['Send again', 'Discard']) assert.ok(buttonsOf(await look('/console/mail')).includes(label), label)
  for (const label of ['Verify', 'Download']) assert.ok(buttonsOf(await look('/console/audit')).includes(label), label)
})

test('429: sign-in is limited to 30 attempts a minute from one address', async (t) => {
  const { app, clock } = await start(t)
  clock.advance({ minutes: 2 })
  const attempt = () => app.inject(submit('/console/sign-in', { email: newEmail(), password: 'wrong password' }))
  for (let n = 0; n < 30; n++) assert.equal((await attempt()).statusCode, 400, String(n))
  const refused = await attempt()
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '2'])
})

test('200: the overview shows the findings of latchkey doctor', async (t) => {
  const { look } = await start(t)
  await until('the checks have run', async () => !(await look('/console/')).body.includes('The checks are running'))
  assert.match(
    textOf(await look('/console/')),
    /Checks \d+ passed, .* smtp: SMTP_URL is not set: mails are kept as files and not sent Set SMTP_URL to .*, and MAIL_FROM\. Warning/,
  )
})
