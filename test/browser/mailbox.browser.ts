import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { temporaryFolder } from '../support/databases/databases.ts'
import { PASSWORD } from '../support/http/requests.ts'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { openBrowser, openPage, signIn } from '../support/servers/browser.ts'
import { serve } from '../support/servers/listen.ts'

const BOSS = { email: 'boss@example.com', password: 'correct horse battery staple' }
const MIA = { email: 'mia@example.com', password: PASSWORD }

/** An admin on the page of the kept mails, in a real browser. */
async function openMailbox(t: TestContext, options: BrowserContextOptions = {}, folder = temporaryFolder(t)) {
  const browser = await openBrowser(t)
  const service = await startProcess(t, { ADMIN_EMAIL: BOSS.email, ADMIN_PASSWORD: BOSS.password }, folder)
  const { page, problems } = await openPage(browser, service.url, options)
  await signIn(page, `${service.url}/console/mail`, BOSS, 'Mailbox')
  return { service, page, problems, frame: page.frameLocator('iframe.mail') }
}

/** The tab that opens with a click. */
async function tabAfter(page: Page, click: () => Promise<void>): Promise<Page> {
  const [tab] = await Promise.all([page.context().waitForEvent('page'), click()])
  await tab.waitForLoadState()
  return tab
}

for (const javaScriptEnabled of [true, false]) {
  test(`the button in a kept mail opens its link in a new tab, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const { service, page, problems, frame } = await openMailbox(t, { javaScriptEnabled })
    const body = JSON.stringify({ ...MIA, first_name: 'Mia', last_name: 'Muster' })
    await fetch(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    await untilPrinted(service, /Mail to mia@example\.com/)
    await page.reload()
    await page.getByRole('link', { name: 'Verify your email address' }).click()
    const address = page.url()
    const verified = await tabAfter(page, () => frame.getByRole('link', { name: 'Verify email address' }).click())
    await verified.getByRole('heading', { name: 'Your address is verified' }).waitFor()
    assert.equal(page.url(), address, 'the mail stays')
    // The plain link below the button: a link that was used says so.
    const used = await tabAfter(page, () => frame.getByRole('link', { name: '/verify/' }).click())
    assert.equal(new URL(used.url()).pathname, '/verify/')
    assert.equal(page.url(), address, 'the mail stays')
    assert.deepEqual(problems, [])
    // The tab is an ordinary one: nothing of the sandbox is left in it.
    await signIn(verified, `${service.url}/account/sign-in`, MIA, 'Profile')
  })
}

const HOSTILE = `<!doctype html><html><head><meta http-equiv="refresh" content="0;url=OTHER/refresh">
<script>top.document.title = 'script'; document.title = 'script'</script>
<link rel="stylesheet" href="OTHER/style.css"><base href="OTHER/" target="_top"></head>
<body onload="document.title = 'onload'"><p>Hello</p>
<img src="OTHER/pixel.png" onerror="document.title = 'onerror'">
<iframe src="OTHER/frame"></iframe>
<form action="OTHER/form"><button>Send</button></form>
<a href="javascript:document.body.append('ran')" target="_self">here</a>
<a href="javascript:document.write('ran')">code</a>
<a href="OWN/account/sign-in" rel="opener">own</a></body></html>`

test('a kept mail runs no script, loads nothing and sends no form, and its links get no opener', async (t) => {
  const folder = temporaryFolder(t)
  const mails = join(folder, 'data', 'mail')
  const { service, page, frame } = await openMailbox(t, {}, folder)
  mkdirSync(mails, { recursive: true })
  const reached: string[] = []
  const other = await serve(t, (request, response) => {
    reached.push(`${request.method} ${request.url}`)
    response.end()
  })
  const html = HOSTILE.replace('OWN', service.url).replaceAll('OTHER', other.url)
  const mail = `To: mia@example.com\r\nSubject: Hostile\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}`
  writeFileSync(join(mails, '2026-01-01T00-00-00.000Z-000001-mia@example.com-00000000.eml'), mail)
  await page.reload()
  await page.getByRole('link', { name: 'Hostile' }).click()
  await frame.getByText('Hello').waitFor()
  const address = page.url()
  await frame.getByRole('button', { name: 'Send' }).click()
  await frame.getByRole('link', { name: 'here' }).click()
  await frame.getByRole('link', { name: 'code' }).click()
  const own = await tabAfter(page, () => frame.getByRole('link', { name: 'own' }).click())
  assert.equal(new URL(own.url()).pathname, '/account/sign-in')
  assert.equal(await own.evaluate('window.opener === null && document.referrer'), '')
  for (const tab of page.context().pages()) assert.ok(!(await tab.content()).includes('>ran<'), 'no script has run in a new tab')
  assert.doesNotMatch(await frame.locator('body').innerText(), /ran/)
  assert.deepEqual([page.url(), await page.title()], [address, 'Hostile · Latchkey'])
  assert.deepEqual(reached, [], 'nothing was sent to another server')
})
