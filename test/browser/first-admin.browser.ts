import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { openBrowser, openPage } from '../support/servers/browser.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const PHONE = { width: 390, height: 844 }

test('the first admin is created without JavaScript, on a phone, and a wrong code is explained', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const code = (await untilPrinted(service, /code +\S+ at http/)).split(/ +/)[1] ?? ''
  const { page, problems } = await openPage(browser, service.url, { javaScriptEnabled: false, viewport: PHONE })
  const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  await page.goto(`${service.url}/console/`)
  await page.getByRole('link', { name: 'Create the first admin' }).click()
  await fill('One-time code', 'AAAA-BBBB-CCCC')
  await fill('Email', 'ada@example.com')
  await fill('First name', 'Ada')
  await fill('Last name', 'Admin')
  await fill('Password', 'correct horse battery')
  await page.getByRole('button', { name: 'Create admin' }).click()
  await page.getByRole('alert').filter({ hasText: 'The code is wrong, so nothing was created.' }).waitFor()
  assert.equal(await page.getByLabel('Email', { exact: true }).inputValue(), 'ada@example.com')
  await fill('One-time code', code)
  await fill('Password', 'correct horse battery')
  await page.getByRole('button', { name: 'Create admin' }).click()
  await page.getByRole('status').filter({ hasText: 'You are the first admin of this service.' }).waitFor()
  await page.goto(`${service.url}/console/first-admin`)
  await page.getByRole('status').filter({ hasText: 'This service already has an admin.' }).waitFor()
  assert.deepEqual(problems, [])
})

test('axe finds nothing on the form for the first admin, in both colour schemes, and it is not wider than a phone', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const path of ['/console/sign-in', '/console/first-admin']) {
      const { page, problems } = await openPage(browser, service.url, { viewport: PHONE, colorScheme })
      await page.goto(service.url + path)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width)
      await page.evaluate(AXE)
      const violations = await page.evaluate('axe.run({ preload: false }).then(({ violations }) => violations.map(({ id }) => id))')
      assert.deepEqual([violations, problems], [[], []], `${path} ${colorScheme}`)
    }
  }
})
