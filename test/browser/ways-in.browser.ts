import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { createClient } from '../../packages/client/src/index.ts'
import { startExample } from '../support/processes/example.ts'
import { openBrowser, openPage, SCREENSHOTS } from '../support/servers/browser.ts'
import { addPasskey, plugIn, withoutAutofill } from '../support/servers/browser-passkeys.ts'
import { freePort } from '../support/servers/free-port.ts'
import { providerEnv } from '../support/servers/identity-provider.ts'
import { signInAt, startOidcProvider } from '../support/servers/oidc-provider.ts'

const MIA = { email: 'mia@example.com', password: 'correct horse battery', firstName: 'Mia', lastName: 'Moss' }

test('a password, a passkey, a mailed link and a provider each lead into the example, by its hand-off', async (t) => {
  const browser = await openBrowser(t)
  const port = String(await freePort())
  const issuer = await startOidcProvider(t, `http://localhost:${port}/login/with/acme/callback`)
  const settings = { LATCHKEY_PORT: port, SIGN_IN_PROVIDERS: 'acme', ...providerEnv('acme', issuer) }
  const { url, latchkeyUrl, find } = await startExample(t, settings)
  const client = createClient({ url: latchkeyUrl })
  await client.register(MIA)
  await fetch(await find(/(http:\S+\/verify\/\?code=\S+)/))
  const { page } = await openPage(browser, url, { viewport: { width: 1000, height: 760 } })
  await plugIn(page)
  await withoutAutofill(page)
  mkdirSync(SCREENSHOTS, { recursive: true })
  let frames = 0
  /** Every step is a picture, so that the pictures in their order are a film. */
  const film = async (name: string) => {
    frames++
    await page.screenshot({ path: `${SCREENSHOTS}/ways-in-${String(frames).padStart(2, '0')}-${name}.png`, animations: 'disabled' })
  }
  const begin = async () => {
    await page.goto(url)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(`Continue to ${new URL(url).host}`).waitFor()
  }
  /** Waits for the notes of somebody, and asks Latchkey how that session was opened. */
  const arrived = async (name: string, method: string) => {
    await page.getByText(name).waitFor()
    assert.equal(page.url(), `${url}/`, 'the code has left the address bar')
    await film(`${method}-notes`)
    const token = await page.evaluate(`JSON.parse(localStorage.getItem('tokens')).token`)
    const response = await fetch(`${latchkeyUrl}/users/me/sessions`, { headers: { authorization: `Bearer ${token}` } })
    const sessions = (await response.json()) as { method: string; current: boolean }[]
    assert.equal(sessions.find(({ current }) => current)?.method, method)
  }
  const leave = async () => {
    await page.goto(url)
    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Your notes, on every device' }).waitFor()
  }

  await page.goto(url)
  await page.getByRole('heading', { name: 'Your notes, on every device' }).waitFor()
  await film('visitor')

  await begin()
  await page.getByLabel('Email').fill(MIA.email)
  await page.getByLabel('Password').fill(MIA.password)
  await film('password')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await arrived('Mia Moss', 'password')

  await addPasskey(page, latchkeyUrl, 'Laptop')
  await leave()
  await begin()
  await film('passkey')
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await arrived('Mia Moss', 'passkey')

  await leave()
  await begin()
  await page.getByRole('link', { name: 'Sign in by email' }).click()
  await page.getByLabel('Email').fill(MIA.email)
  await film('email')
  await page.getByRole('button').click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  await film('email-sent')
  await page.goto(await find(/(http:\S+\/email-sign-in\?code=\S+)/))
  await film('email-link')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await arrived('Mia Moss', 'email')

  // Another person, who has no account yet.
  await leave()
  await begin()
  await page.getByRole('link', { name: 'Continue with Acme' }).click()
  await page.waitForURL(`${issuer}/**`)
  await film('provider')
  await signInAt(page, issuer, 'ida')
  await arrived('Mia Muster', 'acme')
})
