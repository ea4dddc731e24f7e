import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startProcess } from '../support/processes/service-process.ts'
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
