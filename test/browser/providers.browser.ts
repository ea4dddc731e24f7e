import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { member } from '../support/app/actors.ts'
import { beginSignIn } from '../support/app/hand-off.ts'
import { startApp } from '../support/app/start-app.ts'
import { openBrowser, openPage, SCREENSHOTS, signIn } from '../support/servers/browser.ts'
import { freePort } from '../support/servers/free-port.ts'
import { providerEnv } from '../support/servers/identity-provider.ts'
import { serve } from '../support/servers/listen.ts'
import { signInAt, startOidcProvider } from '../support/servers/oidc-provider.ts'

const BUILT_IN = ['google', 'microsoft', 'gitlab', 'github']

/** A service, a product and a real provider, each at an origin of its own. */
async function start(t: TestContext) {
  const product = await serve(t, (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Product</h1>'))
  const port = await freePort()
  const url = `http://localhost:${port}`
  const issuer = await startOidcProvider(t, `${url}/login/with/acme/callback`)
  const ofOthers = BUILT_IN.flatMap((name) =>
    ['CLIENT_ID', 'CLIENT_SECRET'].map((part) => [`PROVIDER_${name.toUpperCase()}_${part}`, 'not-used']),
  )
  const names = [...BUILT_IN, 'acme'].join(',')
  const env = { BASE_URL: url, RETURN_ORIGINS: product.url, SIGN_IN_PROVIDERS: names, ...Object.fromEntries(ofOthers) }
  const service = await startApp(t, { env: { ...env, ...providerEnv('acme', issuer) } })
  await service.app.listen({ port, host: '127.0.0.1' })
  return { service, url, issuer, product: product.url }
}

for (const javaScriptEnabled of [true, false])
  test(`a real provider signs in to the account pages and to the product, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const { url, issuer, product } = await start(t)
    const browser = await openBrowser(t)
    const { page } = await openPage(browser, url, { javaScriptEnabled })
    const { query, state } = beginSignIn(`${product}/in?a=1`)
    await page.goto(`${url}/account/sign-in?${query}`)
    await page.getByRole('link', { name: 'Continue with Acme' }).click()
    await signInAt(page, issuer, 'mia')
    await page.getByRole('heading', { name: 'Product' }).waitFor()
    const { origin, pathname, searchParams } = new URL(page.url())
    assert.deepEqual([origin, pathname, searchParams.get('a'), searchParams.get('state')], [product, '/in', '1', state])
    assert.match(searchParams.get('code') ?? '', /^[\w-]{43}$/)
    await page.goto(`${url}/account/security`)
    await page.getByText('mia@example.com').first().waitFor()
    // Nothing else opens the account.
    await page.getByRole('heading', { name: 'Other providers' }).waitFor()

    // Without a product, to the account. The provider knows the browser by now.
    await page.goto(`${url}/account/sign-out`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByRole('link', { name: 'Continue with Acme' }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    assert.equal(page.url(), `${url}/account/`)
  })

test('the owner of an account with that address signs in once, connects the provider, and arrives at the product', async (t) => {
  const { service, url, issuer, product } = await start(t)
  const mia = await member(service, { email: 'mia@example.com' })
  const { page } = await openPage(await openBrowser(t), url)
  await page.goto(`${url}/account/sign-in?${beginSignIn(`${product}/`).query}`)
  await page.getByRole('link', { name: 'Continue with Acme' }).click()
  await signInAt(page, issuer, 'mia')
  await page.getByRole('heading', { name: 'You already have an account' }).waitFor()
  await page.getByRole('link', { name: 'Sign in and connect' }).click()
  await page.getByLabel('Email').fill(mia.email)
  await page.getByLabel('Password').fill(mia.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Connect Acme?' }).waitFor()
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByRole('heading', { name: 'Product' }).waitFor()
})

const PHONE = { viewport: { width: 390, height: 844 } }
const DESKTOP = { viewport: { width: 1280, height: 800 } }
const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  phone: PHONE,
  'phone-dark': { ...PHONE, colorScheme: 'dark' },
  desktop: DESKTOP,
  'desktop-dark': { ...DESKTOP, colorScheme: 'dark' },
}

test('the pages with providers fit on a phone and a desktop, and ask no other host for anything', async (t) => {
  const { service, url, issuer } = await start(t)
  const mia = await member(service, { email: 'mia@example.com' })
  const browser = await openBrowser(t)
  mkdirSync(SCREENSHOTS, { recursive: true })
  const connecting = await openPage(browser, url)
  await signIn(connecting.page, `${url}/account/sign-in`, mia, 'Profile')
  await connecting.page.goto(`${url}/account/security`)
  await connecting.page.locator('a[href*="/acme?connect"]').click()
  await signInAt(connecting.page, issuer, 'mia')
  await connecting.page.getByRole('button', { name: 'Connect' }).click()
  await connecting.page.getByRole('heading', { name: 'Security' }).waitFor()
  await member(service, { email: 'ben@example.com' })
  for (const [look, options] of Object.entries(LOOKS)) {
    const { page, problems } = await openPage(browser, url, options)
    const photograph = async (name: string) => {
      const isWide = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
      assert.equal(isWide, false, `${name} on ${look} scrolls sideways`)
      await page.screenshot({ path: `${SCREENSHOTS}/providers-${name}-${look}.png`, fullPage: true })
    }
    await page.goto(`${url}/account/register`)
    await photograph('register')
    await page.goto(`${url}/account/sign-in`)
    assert.equal(await page.getByRole('link', { name: /^Continue with / }).count(), BUILT_IN.length + 1)
    await photograph('sign-in')
    await page.goto(`${url}/console/sign-in`)
    await photograph('console')
    await signIn(page, `${url}/account/sign-in`, mia, 'Profile')
    await page.goto(`${url}/account/security`)
    await photograph('security')
    assert.deepEqual(problems, [], look)
    // From here on the browser also visits the provider.
    const { page: away } = await openPage(browser, url, options)
    const photographAway = (name: string) => away.screenshot({ path: `${SCREENSHOTS}/providers-${name}-${look}.png`, fullPage: true })
    await away.goto(`${url}/login/with/acme`)
    await away.getByRole('link', { name: 'Cancel' }).click()
    await away.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await photographAway('refused')
    await away.goto(`${url}/login/with/acme`)
    await signInAt(away, issuer, 'ben')
    await away.getByRole('heading', { name: 'You already have an account' }).waitFor()
    await photographAway('existing')
  }
})
