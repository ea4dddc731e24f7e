import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../support/app/eventually.ts'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { openBrowser, openPage, photograph } from '../support/servers/browser.ts'

const EMAIL = 'mia@example.com'
const OLD_PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'a brand new password'

async function postJson(url: string, body: object): Promise<number> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  await response.arrayBuffer()
  return response.status
}

async function fill(page: Page, password: string, again: string): Promise<void> {
  await page.getByLabel('New password', { exact: true }).fill(password)
  await page.getByLabel('Confirm new password').fill(again)
  await page.getByRole('button', { name: 'Set new password' }).click()
}

test('from the registration mail to a login with a new password, all in a browser', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const { page, problems } = await openPage(browser, service.url)
  const onService = (link: string) => service.url + new URL(link).pathname + new URL(link).search

  await postJson(`${service.url}/register/`, { email: EMAIL, password: OLD_PASSWORD, first_name: 'Mia', last_name: 'Muster' })
  const verifyLink = onService(await untilPrinted(service, /http:\S+\/verify\/\?code=\S+/))
  assert.equal((await page.goto(verifyLink))?.status(), 200)
  await page.getByRole('heading', { name: 'Your address is verified' }).waitFor()
  assert.equal((await page.goto(verifyLink))?.status(), 401)
  await page.getByRole('heading', { name: 'Your address is already verified' }).waitFor()
  await photograph(browser, 'verify-again', (shot) => shot.goto(verifyLink))

  await postJson(`${service.url}/forgot-password/`, { email: EMAIL })
  const resetLink = onService(await untilPrinted(service, /http:\S+\/reset-password\/\?code=\S+/))
  await photograph(browser, 'reset-form', (shot) => shot.goto(resetLink))
  await page.goto(resetLink)
  await fill(page, NEW_PASSWORD, 'something else')
  await page.getByRole('alert').filter({ hasText: 'The two passwords are not the same' }).waitFor()
  assert.ok(!page.url().includes('code='), 'the code has left the address bar')
  await page.screenshot({ path: new URL('screenshots/reset-differs.png', import.meta.url).pathname })
  await fill(page, NEW_PASSWORD, NEW_PASSWORD)
  await page.getByRole('heading', { name: 'Password successfully reset' }).waitFor()
  await page.screenshot({ path: new URL('screenshots/reset-done.png', import.meta.url).pathname })

  assert.equal(await postJson(`${service.url}/login/`, { email: EMAIL, password: NEW_PASSWORD }), 200)
  assert.equal(await postJson(`${service.url}/login/`, { email: EMAIL, password: OLD_PASSWORD }), 400)
  await page.goto(resetLink)
  await page.getByRole('alert').filter({ hasText: 'That token is Invalid' }).waitFor()
  await photograph(browser, 'reset-used', (shot) => shot.goto(resetLink))
  assert.deepEqual(problems, [])
})

/** Not waitForFunction, which evaluates its text again in each frame: the policy of the page allows that only the first time. */
async function untilFocused(page: Page, id: string): Promise<void> {
  await until(`${id} has the focus`, () => page.evaluate<boolean>(`document.activeElement.id === '${id}'`))
}

test('the form works with the keyboard and with password managers, and rejects a short password before it is sent', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, { ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: OLD_PASSWORD })
  const { page, problems } = await openPage(browser, service.url)
  await postJson(`${service.url}/forgot-password/`, { email: EMAIL })
  const link = new URL(await untilPrinted(service, /http:\S+\/reset-password\/\?code=\S+/))
  await page.goto(service.url + link.pathname + link.search)
  // The browser focuses the field when it first renders the page, which may be after the load event.
  await untilFocused(page, 'new_password')
  await page.keyboard.type('short')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate("document.querySelector('#new_password').validity.tooShort"), true)
  await page.keyboard.type(' and then long enough')
  await page.keyboard.press('Tab')
  await untilFocused(page, 'confirm_password')
  await page.keyboard.type('short and then long enough')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Password successfully reset' }).waitFor()
  assert.deepEqual(problems, [])
})
