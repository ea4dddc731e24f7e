import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { member } from '../support/app/actors.ts'
import { beginSignIn } from '../support/app/hand-off.ts'
import { startApp } from '../support/app/start-app.ts'
import { openBrowser, openPage } from '../support/servers/browser.ts'
import { freePort } from '../support/servers/free-port.ts'

/** A page of a product, at its own origin. */
async function serveProduct(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Product</h1>'))
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  t.after(() => server.close())
  return `http://localhost:${port}`
}

async function start(t: TestContext) {
  const [product, other] = [await serveProduct(t), await serveProduct(t)]
  const port = await freePort()
  const url = `http://localhost:${port}`
  const service = await startApp(t, { env: { BASE_URL: url, RETURN_ORIGINS: `${product},${other}` } })
  await service.app.listen({ port, host: '127.0.0.1' })
  const { page } = await openPage(await openBrowser(t), url)
  const violations: string[] = []
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) violations.push(message.text())
  })
  return { service, url, product, other, page, violations, mia: await member(service) }
}

async function fill(page: Page, { email, password }: { readonly email: string; readonly password: string }): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
}

const press = (page: Page) => page.getByRole('button', { name: 'Sign in', exact: true }).click()

for (const javaScriptEnabled of [true, false])
  test(`Chromium follows the form to the product, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const { url, product, page: first, violations, mia } = await start(t)
    const page = javaScriptEnabled
      ? first
      : await (await (first.context().browser() ?? assert.fail()).newContext({ javaScriptEnabled })).newPage()
    const { query, state } = beginSignIn(`${product}/in?a=1`)
    await page.goto(`${url}/account/sign-in?${query}`)
    await fill(page, mia)
    await press(page)
    await page.getByRole('heading', { name: 'Product' }).waitFor()
    const { origin, pathname, searchParams } = new URL(page.url())
    assert.deepEqual([origin, pathname, searchParams.get('a'), searchParams.get('state')], [product, '/in', '1', state])
    assert.match(searchParams.get('code') ?? '', /^[\w-]{43}$/)
    await page.goto(`${url}/account/sign-out?return_to=${encodeURIComponent(`${product}/bye`)}`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Product' }).waitFor()
    assert.equal(page.url(), `${product}/bye`)
    assert.deepEqual(violations, [])
  })

test('a page for one product leads to no other origin: the browser refuses it', async (t) => {
  const { url, product, other, page, violations, mia } = await start(t)
  const blocked = async (query: string, tamper: string) => {
    const seen = violations.length
    await page.context().clearCookies()
    await page.goto(`${url}/account/sign-in${query}`)
    await fill(page, mia)
    // Not with a click, which would wait for the navigation that the browser refuses.
    await page.evaluate(`${tamper}; setTimeout(() => document.querySelector('form').requestSubmit())`)
    while (violations.length === seen) await page.waitForEvent('console')
    assert.match(violations.at(-1) ?? '', /form-action/)
    assert.ok(page.url().startsWith(url), page.url())
  }
  const toOther = `document.querySelector('form [name=next]').value = '/account/hand-off?${beginSignIn(`${other}/`).query}'`
  const { query } = beginSignIn(`${product}/`)
  await blocked(`?${query}`, toOther)
  await blocked(`?${query}`, `document.querySelector('form').action = '${other}/steal'`)
  // Without a product, no origin but that of the service.
  await blocked('', toOther)
})
