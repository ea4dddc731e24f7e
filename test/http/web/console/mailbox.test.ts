import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import { createKeptMails } from '../../../../src/delivery/mail/file.transport.ts'
import { admin } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../../support/http/origins.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

/** Neither scripts, nor forms, nor the origin of the console. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

async function start(t: Parameters<typeof startApp>[0], env: Record<string, string> = {}) {
  const service = await startApp(t, { env })
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const look = (path: string, by = cookie) => service.app.inject(visit(`/console/mail${path}`, by))
  return { ...service, boss, cookie, look }
}

test('200: the mailbox lists kept mails and shows each as its reader would see it, in an inert frame', async (t) => {
  const { services, mailbox, look } = await start(t)
  assert.match(textOf(await look('')), /Mailbox No mail yet/)
  const person = { email: 'mia@example.com', password: 'correct horse', firstName: '<b>Mia', lastName: 'Muster' }
  await services.registration.register(ORIGIN, person)
  const [mail] = await mailbox.messages()
  const [, path = ''] = /href="\/console\/mail(\/kept\/[^"]+)"/.exec((await look('')).body) ?? []
  const page = await look(path)
  assert.equal(page.statusCode, 200)
  assert.match(textOf(page), /Verify your email address for Latchkey .*To mia@example\.com/)
  assert.ok(
    page.body.includes(
      `<iframe class="mail" title="The mail, as its reader sees it" sandbox="${SANDBOX}" src="/console/mail${path}/frame">`,
    ),
  )
  assert.ok(page.body.includes(`<a href="${mail?.link}" target="_blank" rel="noreferrer">`))
  assert.doesNotMatch(page.body, /<b>Mia/)
  const frame = await look(`${path}/frame`)
  assert.equal(frame.statusCode, 200)
  const shown = frame.body.replaceAll('\r\n', '\n').trim()
  assert.equal(shown.replace('<!doctype html><base target="_blank">', '<!doctype html>'), mail?.html.trim())
  assert.equal(shown.indexOf('<base'), '<!doctype html>'.length)
  assert.equal(
    frame.headers['content-security-policy'],
    `sandbox ${SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'`,
  )
  assert.deepEqual([frame.headers['referrer-policy'], frame.headers['cache-control']], ['no-referrer', 'no-store'])
})

test('403: a mail, which may contain a reset link, is shown to an admin who gave the password in the last ten minutes', async (t) => {
  const { app, services, mailbox, boss, cookie, look, clock } = await start(t)
  await services.userAdministration.sendPasswordReset(OPERATOR, boss.id)
  const code = await mailbox.codeFor(boss.email)
  const [, path = ''] = /href="\/console\/mail(\/kept\/[^"]+)"/.exec((await look('?status=failed')).body) ?? []
  assert.ok((await look(path)).body.includes(code))
  clock.advance({ minutes: 11 })
  const list = await look('')
  assert.equal(list.statusCode, 200)
  assert.ok(!list.body.includes(code), 'the list shows no link')

  const address = `/console/mail${path}`
  for (const hidden of [path, path.replace('?', '/frame?').replace('?status=failed', '')]) {
    const asked = await look(hidden)
    assert.equal(asked.statusCode, 403, hidden)
    assert.match(textOf(asked), /Confirm your password .* Enter it again to read this mail\. /)
    assert.ok(!asked.body.includes(code))
    assert.equal((await app.inject({ ...visit(`/console/mail${hidden}`, cookie), method: 'HEAD' })).statusCode, 403)
  }
  const asked = await look(path)
  assert.match(asked.body, /<form class="form" method="post" action="\/console\/confirm">/)
  assert.ok(asked.body.includes(`<input type="hidden" name="next" value="${address}">`))
  assert.ok(asked.body.includes('<a class="button" href="/console/mail?status=failed">Cancel</a>'))
  const confirm = (password: string) => app.inject(submit('/console/confirm', { next: address, password }, cookie))
  const wrong = await confirm('not the password')
  assert.deepEqual([wrong.statusCode, wrong.headers['set-cookie']], [400, undefined])
  assert.ok(wrong.body.includes(`<input type="hidden" name="next" value="${address}">`), 'the way back is kept')
  const confirmed = await confirm(boss.password)
  assert.deepEqual([confirmed.statusCode, confirmed.headers.location], [303, address])
  assert.ok((await look(path)).body.includes(code))
  assert.equal((await look(path)).statusCode, 200, 'the session is confirmed for ten minutes')
  const elsewhere = await app.inject(submit('/console/confirm', { next: 'https://evil.example/', password: boss.password }, cookie))
  assert.equal(elsewhere.headers.location, '/console/')
})

/** Names that lead to no mail, although some of them lead to files. */
const NAMES = [
  'x',
  '..%2Flatchkey.db',
  '%2Fetc%2Fpasswd',
  '..%5C..%5Cx.eml',
  '2026-01-01T00-00-00.000Z-000001-..%2F..%2Fx-00000000.eml',
  '2026-01-01T00-00-00.000Z-000001-nobody@example.com-00000000.eml',
  '%00',
]

plainTest('303: a name of a mail cannot lead to another file', async (t) => {
  const { look } = await start(t)
  for (const name of NAMES) {
    for (const path of [`/kept/${name}`, `/kept/${name}/frame`]) {
      const { statusCode, headers } = await look(path)
      assert.ok(
        statusCode === 404 || statusCode === 422 || (statusCode === 303 && headers.location === '/console/mail'),
        `${path} ${statusCode}`,
      )
    }
  }
})

plainTest('200: every kept mail is listed, in pages, and links end before punctuation', async (t) => {
  const { look, mailFolder } = await start(t)
  mkdirSync(mailFolder, { recursive: true })
  const nameOf = (n: number) => `2026-01-01T00-00-00.000Z-${String(n).padStart(6, '0')}-mia@example.com-00000000.eml`
  const links = ['https://example.com/a?b=c_-', 'http://example.com/x', 'https://example.com/y', 'https://example.com/z/']
  const text = `Open ${links[0]}. Or (${links[1]}), '${links[2]}'! And <${links[3]}>; or https://.`
  for (let n = 0; n < 131; n++) writeFileSync(join(mailFolder, nameOf(n)), `To: mia@example.com\r\nSubject: s\r\n\r\n${text}`)
  const listed: string[] = []
  for (let path = ''; ; ) {
    const { body } = await look(path)
    const mails = [...body.matchAll(/href="\/console\/mail(\/kept\/([^"?]+)[^"]*)"/g)]
    listed.push(...mails.map(([, , id = '']) => decodeURIComponent(id)))
    const [, link = ''] = mails[0] ?? []
    assert.ok((await look(link)).body.includes(`class="back" href="/console/mail${path}#mailbox"`), 'a mail leads back to its page')
    const next = /rel="next" href="\/console\/mail([^"]*)"/.exec(body)?.[1]
    if (next === undefined) break
    path = next.replace('#mailbox', '')
  }
  const [, mail = ''] = /href="\/console\/mail(\/kept\/[^"]+)"/.exec((await look('?status=failed&kept=2')).body) ?? []
  const opened = await look(mail.replaceAll('&amp;', '&'))
  assert.ok(
    opened.body.includes('class="back" href="/console/mail?status=failed&amp;kept=2#mailbox"'),
    'and to the same part of the outbox',
  )
  assert.deepEqual(
    listed,
    Array.from({ length: 131 }, (_, n) => nameOf(130 - n)),
  )
  assert.deepEqual((await createKeptMails(mailFolder).find(nameOf(0)))?.links, links)
})

plainTest('404: with SMTP_URL there is no mailbox', async (t) => {
  const { look } = await start(t, { SMTP_URL: 'smtp://localhost:2525' })
  assert.doesNotMatch(textOf(await look('')), /Mailbox/)
  assert.equal((await look('/kept/x')).statusCode, 404)
})
