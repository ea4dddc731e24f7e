import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { until } from '../support/app/eventually.ts'
import { type ApiDocument, operationsOf } from '../support/http/openapi.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { openBrowser, openPage, SCREENSHOTS } from '../support/servers/browser.ts'

const EMAIL = 'mia@example.com'
const PASSWORD = 'correct horse battery'
const ADMIN = { ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD }
const FOLD_MS = 5000

/** Expands one operation of Swagger UI. */
async function unfold(page: Page, operationId: string): Promise<Locator> {
  const operation = page.locator(`.opblock[id$="-${operationId}"]`)
  await operation.waitFor()
  if (!(await operation.evaluate((element) => element.classList.contains('is-open')))) await operation.locator('.opblock-summary').click()
  return operation
}

/** Executes an operation, and returns the status and the body that Swagger UI shows. */
async function execute(operation: Locator): Promise<{ status: string; body: string }> {
  // The response of an earlier request is shown until the new one arrives.
  const clear = operation.getByRole('button', { name: 'Clear' })
  if (await clear.isVisible()) await clear.click()
  await operation.getByRole('button', { name: 'Execute' }).click()
  const live = operation.locator('.live-responses-table tbody tr').first()
  await live.locator('.response-col_status').waitFor()
  const body = live.locator('.response-col_description pre').first()
  return { status: (await live.locator('.response-col_status').innerText()).trim().slice(0, 3), body: await body.innerText() }
}

async function authorize(page: Page, field: string, credential: string): Promise<void> {
  await page.locator('.auth-wrapper .btn.authorize').click()
  await page.locator(field).fill(credential)
  await page
    .locator('.auth-container', { has: page.locator(field) })
    .getByRole('button', { name: 'Apply credentials' })
    .click()
  await page.locator('.modal-ux .close-modal').click()
}

test('in Swagger UI a user logs in, authorizes with the token and reads their account; after a reload, with an API key', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, ADMIN)
  const { page, problems } = await openPage(browser, service.url, { viewport: { width: 1280, height: 1000 } })
  await page.goto(`${service.url}/docs`)

  const login = await unfold(page, 'login')
  await login.locator('textarea').fill(JSON.stringify({ email: EMAIL, password: PASSWORD }))
  const loggedIn = await execute(login)
  assert.equal(loggedIn.status, '200')
  const { token } = JSON.parse(loggedIn.body) as { token: string }
  assert.equal((await execute(await unfold(page, 'getOwnProfile'))).status, '401')

  await authorize(page, '#auth-bearer-value', token)
  const profile = await execute(await unfold(page, 'getOwnProfile'))
  assert.equal(profile.status, '200')
  assert.equal(JSON.parse(profile.body).email, EMAIL)
  await page.locator('.opblock[id$="-getOwnProfile"]').screenshot({ path: `${SCREENSHOTS}/docs-tried-out.png` })

  const newKey = await unfold(page, 'createApiKey')
  const { status, body } = await execute(newKey)
  assert.equal(status, '200')
  await page.reload()
  assert.equal((await execute(await unfold(page, 'getOwnProfile'))).status, '401', 'credentials do not outlive the page')
  await authorize(page, '#api_key_value', JSON.parse(body).key)
  const byKey = await execute(await unfold(page, 'getOwnProfile'))
  assert.deepEqual([byKey.status, JSON.parse(byKey.body).email], ['200', EMAIL])
  assert.deepEqual(problems, [])
})

test('Swagger UI shows every operation, links to each, and sends requests below the path where it was opened', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const operations = await readOperations(service.url)
  for (const path of ['/docs/', '/api/v1/docs']) {
    const { page, problems } = await openPage(browser, service.url)
    await page.goto(`${service.url}${path}#/Service/heartbeat`)
    const heartbeat = page.locator('.opblock.is-open[id$="-heartbeat"]')
    await heartbeat.waitFor()
    const called = page.waitForRequest(/\/heartbeat$/)
    assert.equal((await execute(heartbeat)).status, '200')
    assert.equal(new URL((await called).url()).pathname, path.startsWith('/api/v1') ? '/api/v1/heartbeat' : '/heartbeat')
    assert.equal(await page.locator('.opblock').count(), operations.length)
    assert.deepEqual(problems, [])
    await page.close()
  }
})

test('Swagger UI fits on a phone, also with expanded operations', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const { page } = await openPage(browser, service.url, { viewport: { width: 390, height: 844 } })
  await page.goto(`${service.url}/docs`)
  for (const operationId of ['login', 'updateApiKeyOfUser', 'searchUsers']) {
    await (await unfold(page, operationId)).locator('.responses-table').first().waitFor()
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, operationId)
  }
})

test('Redoc shows every operation, and finds one', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const operations = await readOperations(service.url)
  for (const path of ['/redoc', '/api/v1/redoc/']) {
    const { page, problems } = await openPage(browser, service.url)
    await page.goto(`${service.url}${path}`)
    await page.locator('h2', { hasText: /^Accounts$/ }).waitFor()
    for (const { operation } of operations) await showsInMenu(page, operation.tags[0] ?? '', operation.summary)
    const result = page.getByText('The role applies to the very next request.').last()
    // Redoc hears no key before it has set up its search, and drops what is typed before its index is complete.
    await until('the search finds an operation', async () => {
      const field = page.locator('input:focus, textarea:focus')
      if ((await field.count()) === 0) await page.keyboard.press('Control+k')
      if (!(await isShown(field))) return false
      await field.fill('')
      await field.pressSequentially('make-admin')
      return isShown(result)
    })
    await result.click()
    await page.locator('h2, h3', { hasText: 'Make a user an admin' }).waitFor()
    await page.screenshot({ path: `${SCREENSHOTS}/redoc-operation.png` })
    assert.deepEqual(problems, [])
    await page.close()
  }
})

/** The menu of Redoc shows the operations of one tag at a time. */
async function showsInMenu(page: Page, tag: string, summary: string): Promise<void> {
  const menu = page.locator('[data-component-name="Menu/Menu"]').first()
  const item = menu.getByText(summary, { exact: true })
  await until(`the menu shows ${summary}`, async () => {
    if (await item.isVisible()) return true
    // A click folds a tag that Redoc itself has unfolded since. Then another click shows it.
    await menu.getByText(tag, { exact: true }).click()
    return isShown(item)
  })
}

/** Whether it is shown soon. */
function isShown(item: Locator): Promise<boolean> {
  return item.waitFor({ timeout: FOLD_MS }).then(
    () => true,
    () => false,
  )
}

async function readOperations(url: string) {
  return operationsOf((await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument)
}
