import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { temporaryFolder } from '../support/databases/databases.ts'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { openBrowser, openPage, signIn } from '../support/servers/browser.ts'

const EMAIL = 'boss@example.com'
const PASSWORD = 'correct horse battery'
const ADMIN = { ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD }

const signInAsAdmin = (page: Page, url: string) => signIn(page, `${url}/console/`, { email: EMAIL, password: PASSWORD }, 'Overview')

for (const javaScriptEnabled of [true, false]) {
  test(`an admin signs in, creates, bans and deletes a user, and signs out, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const browser = await openBrowser(t)
    const service = await startProcess(t, ADMIN)
    const { page, problems } = await openPage(browser, service.url, { javaScriptEnabled })
    await signInAsAdmin(page, service.url)
    await page.getByRole('link', { name: 'Users', exact: true }).first().click()
    await page.getByRole('link', { name: 'New user' }).click()
    await page.getByLabel('Email').fill('mia@example.com')
    await page.getByLabel('First name').fill('Mia')
    await page.getByLabel('Last name').fill('Muster')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create user' }).click()
    await page.getByRole('status').filter({ hasText: 'The account has been created and is verified.' }).waitFor()
    await page.getByText('Ban…').click()
    await page.getByRole('button', { name: 'Ban' }).click()
    await page.getByRole('status').filter({ hasText: 'The account is banned.' }).waitFor()
    await page.getByRole('button', { name: 'Unban' }).click()
    await page.getByRole('status').filter({ hasText: 'The ban has been lifted.' }).waitFor()
    await page.getByText('Delete…').click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('status').filter({ hasText: 'The account has been deleted' }).waitFor()
    await page.reload()
    assert.equal(await page.getByRole('status').count(), 0, 'a message is shown once')
    await page.getByLabel('Search').fill('boss')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: EMAIL }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('status').filter({ hasText: 'You are signed out.' }).waitFor()
    assert.equal((await page.goto(`${service.url}/console/users`))?.url(), `${service.url}/console/sign-in?next=%2Fconsole%2Fusers`)
    assert.deepEqual(problems, [])
  })
}

/** Changes the database of a service as if its sessions had been confirmed eleven minutes earlier. */
function waitElevenMinutes(folder: string): void {
  const connection = new DatabaseSync(join(folder, 'data', 'latchkey.db'), { timeout: 5000 })
  connection.exec('update sessions set confirmed_at = coalesce(confirmed_at, created_at) - 660000')
  connection.close()
}

for (const javaScriptEnabled of [true, false]) {
  test(`a kept mail and a new key ask for the password and then do what was asked for, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const browser = await openBrowser(t)
    const folder = temporaryFolder(t)
    const service = await startProcess(t, ADMIN, folder)
    const { page, problems } = await openPage(browser, service.url, { javaScriptEnabled })
    const confirm = async (password: string) => {
      await page.getByRole('heading', { name: 'Confirm your password' }).waitFor()
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Confirm' }).click()
    }
    await signInAsAdmin(page, service.url)
    await page.goto(`${service.url}/console/users/1`)
    await page.getByRole('button', { name: 'Send password reset' }).click()
    await untilPrinted(service, /http:\S+\/reset-password\/\?code=\S+/)
    waitElevenMinutes(folder)
    await page.goto(`${service.url}/console/mail`)
    await page.getByRole('link', { name: 'Reset your password' }).click()
    await confirm('not the password')
    await page.getByRole('alert').filter({ hasText: 'Wrong password.' }).waitFor()
    assert.equal(await page.getByRole('link', { name: /reset-password/ }).count(), 0)
    await confirm(PASSWORD)
    await page.getByRole('link', { name: /reset-password/ }).waitFor()
    await page.frameLocator('iframe').getByText('Choose a new password').first().waitFor()

    // The account pages have their own session.
    await signIn(page, `${service.url}/account/`, { email: EMAIL, password: PASSWORD }, 'Profile')
    waitElevenMinutes(folder)
    await page.goto(`${service.url}/account/keys/new`)
    await page.getByLabel('Name').fill('Nightly export')
    await page.getByLabel('Access').selectOption('full')
    await page.getByRole('button', { name: 'Create API key' }).click()
    await confirm(PASSWORD)
    await page.getByRole('heading', { name: 'Nightly export' }).waitFor()
    assert.match(await page.getByLabel('API key', { exact: true }).inputValue(), /^lk_/)
    await page.goto(`${service.url}/account/keys`)
    assert.equal(await page.getByRole('link', { name: 'Nightly export' }).count(), 1)
    assert.deepEqual(problems, [])
  })
}

test('an explorer can neither read the cookie nor a page of the console', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, ADMIN)
  const { page } = await openPage(browser, service.url)
  await signInAsAdmin(page, service.url)
  for (const path of ['/docs', '/redoc']) {
    await page.goto(service.url + path)
    const seen = await page.evaluate(async () => {
      const pages = await Promise.all(
        (['include', 'same-origin'] as const).map((credentials) =>
          fetch('/console/users', { credentials }).then(
            (response) => response.text(),
            () => 'refused',
          ),
        ),
      )
      return pages.join(' ')
    })
    assert.ok(!seen.includes('List of users'), path)
    assert.equal(await page.evaluate('origin'), 'null')
  }
})

test('a double click sends a form once', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, ADMIN)
  const { page } = await openPage(browser, service.url)
  await signInAsAdmin(page, service.url)
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
  await page.goto(`${service.url}/console/users/1`)
  await page.getByRole('button', { name: 'Send password reset' }).dblclick()
  await page.getByRole('status').filter({ hasText: 'in the outbox' }).waitFor()
  assert.deepEqual(sent, ['/console/users/1/send-reset'])
})

test('times are in the zone of the reader, and in UTC without JavaScript', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, ADMIN)
  const texts: (string | null)[] = []
  for (const javaScriptEnabled of [true, false]) {
    const options = { javaScriptEnabled, timezoneId: 'Asia/Tokyo', locale: 'en-GB' }
    const { page, problems } = await openPage(browser, service.url, options)
    await signInAsAdmin(page, service.url)
    await page.goto(`${service.url}/console/audit`)
    const time = page.locator('td time').first()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo' }).format(at)
    const inTokyo = `${date} GMT+9`
    assert.equal((await time.textContent()) === inTokyo, javaScriptEnabled)
    texts.push(await time.textContent())
    assert.deepEqual(problems, [])
  }
  assert.match(texts[1] ?? '', /UTC$/)
})
