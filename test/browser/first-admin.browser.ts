import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { firstAdminUrl, startProcess } from '../support/processes/service-process.ts'
import { openBrowser, openPage } from '../support/servers/browser.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const PHONE = { width: 390, height: 844 }

test('the first admin is created without JavaScript, on a phone, with the link of the terminal', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, { PASSWORD_BLOCKLIST: 'common' })
  const link = firstAdminUrl(service) ?? assert.fail(service.output())
  const { page, problems } = await openPage(browser, service.url, { javaScriptEnabled: false, viewport: PHONE })
  const referrers: string[] = []
  page.on('request', (request) => {
    const { referer = '' } = request.headers()
    if (referer.includes('token')) referrers.push(referer)
  })
  const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  await page.goto(`${service.url}/console/`)
  await page.getByText('Create one with the link that the terminal of this service shows').waitFor()
  await page.goto(link)
  await fill('Email', 'ada@example.com')
  await fill('First name', 'Ada')
  await fill('Last name', 'Admin')
  await fill('Password', 'password')
  await page.getByRole('button', { name: 'Create admin' }).click()
  await page.getByText('This password is on a list of breached passwords').waitFor()
  assert.equal(await page.getByLabel('Email', { exact: true }).inputValue(), 'ada@example.com')
  await fill('Password', 'correct horse battery')
  await page.getByRole('button', { name: 'Create admin' }).click()
  await page.getByRole('status').filter({ hasText: 'You are the first admin of this service.' }).waitFor()
  assert.deepEqual(referrers, [], 'no request says which address it comes from')
  await page.goto(link)
  await page.getByRole('status').filter({ hasText: 'This service already has an admin.' }).waitFor()
  assert.deepEqual(problems, [])
})

test('axe finds nothing on the form for the first admin, in both colour schemes, and it is not wider than a phone', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const link = firstAdminUrl(service) ?? assert.fail(service.output())
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const url of [`${service.url}/console/sign-in`, link]) {
      const { page, problems } = await openPage(browser, service.url, { viewport: PHONE, colorScheme })
      await page.goto(url)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width)
      await page.evaluate(AXE)
      const violations = await page.evaluate('axe.run({ preload: false }).then(({ violations }) => violations.map(({ id }) => id))')
      assert.deepEqual([violations, problems], [[], []], `${url} ${colorScheme}`)
    }
  }
})
