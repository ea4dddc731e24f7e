import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { createClient } from '../../packages/client/src/index.ts'
import { codeAt } from '../../src/security/totp.ts'
import { startExample } from '../support/processes/example.ts'
import { openBrowser, openPage, SCREENSHOTS } from '../support/servers/browser.ts'

const EMAIL = 'mia@example.com'
const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'a brand new password'

/** A field of the form that is shown. */
function field(page: Page, label: string): Locator {
  return page.getByLabel(label, { exact: true }).filter({ visible: true })
}

/** Signs in on the account pages of Latchkey, to which the product has led. */
async function logIn(page: Page, password: string): Promise<void> {
  await field(page, 'Email').fill(EMAIL)
  await field(page, 'Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Runs an expression in the page, with a client of the same session. */
async function evaluateWithClient<Value>(page: Page, latchkeyUrl: string, expression: string): Promise<Value> {
  return page.evaluate(`(async () => {
    const { createClient } = await import('/client/index.js')
    const get = () => JSON.parse(localStorage.getItem('tokens'))
    const set = (tokens) => localStorage.setItem('tokens', JSON.stringify(tokens))
    const client = createClient({ url: '${latchkeyUrl}', storage: { get, set } })
    return ${expression}
  })()`) as Promise<Value>
}

/** An authenticator whose person always agrees. */
async function addVirtualAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options })
}

test('the example: register, verify, sign in, write a note, use it with a key, reset the password, sign in with two steps and with a passkey', async (t) => {
  const browser = await openBrowser(t)
  const { url, latchkeyUrl, find } = await startExample(t)
  const { page, problems } = await openPage(browser, url, { viewport: { width: 1280, height: 800 } })
  mkdirSync(SCREENSHOTS, { recursive: true })
  const photograph = async (name: string) => {
    for (const [look, width] of Object.entries({ desktop: 1280, phone: 375 }))
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        await page.screenshot({ path: `${SCREENSHOTS}/notes-${name}-${look}-${colorScheme}.png`, fullPage: true, animations: 'disabled' })
        const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
        assert.equal(overflow, 0, `${name} is wider than a ${look}`)
      }
  }
  const signIn = () => page.getByRole('button', { name: 'Sign in' }).click()
  const isClean = () => assert.equal(page.url(), `${url}/`, 'the code has left the address bar')

  // Registration: the mail is opened in another tab, and the first tab signs in.
  await page.goto(url)
  await page.getByRole('heading', { name: 'Your notes, on every device' }).waitFor()
  await photograph('visitor')
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByText(`Continue to ${new URL(url).host}`).waitFor()
  await photograph('register')
  await field(page, 'First name').fill('Mia')
  await field(page, 'Last name').fill('Muster')
  await field(page, 'Email').fill(EMAIL)
  await field(page, 'Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  await photograph('check-mail')
  const mailTab = await page.context().newPage()
  await mailTab.goto(await find(/(http:\S+\/verify\/\?code=\S+)/))
  await mailTab.getByRole('heading', { name: 'Your address is verified' }).waitFor()
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByText(`Continue to ${new URL(url).host}`).waitFor()
  await photograph('sign-in')
  await logIn(page, 'a wrong guess')
  await page.getByText('Wrong email or password').waitFor()
  await logIn(page, PASSWORD)
  await page.getByText('Mia Muster').waitFor()
  isClean()

  // The other tab signs in too: it did not begin the sign-in, so that it has to begin one, which passes without a question.
  await mailTab.getByRole('link', { name: 'Sign in' }).click()
  await mailTab.goto(url)
  await mailTab.evaluate('localStorage.clear()')
  await mailTab.goto(`${url}/?code=of-somebody-else&state=of-somebody-else`)
  await mailTab.getByText('Press Sign in to continue in this tab.').waitFor()
  assert.equal(mailTab.url(), `${url}/`)
  await mailTab.getByRole('button', { name: 'Sign in' }).click()
  await mailTab.getByText('Mia Muster').waitFor()
  await mailTab.close()
  await page.reload()

  await field(page, 'New note').fill('Buy milk <b>today</b>')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByText('Buy milk <b>today</b>').waitFor()
  await field(page, 'Name').fill('laptop')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Copy the key now').waitFor()
  await photograph('notes')
  const key = await page.locator('#secret').textContent()
  const headers = { 'x-api-key': key ?? '' }
  const [note] = (await (await fetch(`${url}/api/notes`, { headers })).json()) as { text: string; by: string }[]
  assert.deepEqual([note?.text, note?.by], ['Buy milk <b>today</b>', 'you'])
  // The key may read only, and proves who its owner is without access to the account.
  assert.equal((await fetch(`${url}/api/notes`, { method: 'POST', headers, body: '{"text":"no"}' })).status, 403)
  assert.equal((await fetch(`${latchkeyUrl}/users/keys`, { headers })).status, 403)
  assert.equal((await fetch(`${url}/api/notes`)).status, 401)

  // A second device of the same person.
  await createClient({ url: latchkeyUrl }).login({ email: EMAIL, password: PASSWORD })
  await page.reload()
  await page.getByText('Buy milk <b>today</b>').waitFor()
  await page.getByRole('button', { name: 'Delete laptop' }).click()
  await page.getByText('laptop').waitFor({ state: 'detached' })
  assert.equal((await fetch(`${url}/api/notes`, { headers })).status, 401)
  await page.getByText('Session from').first().waitFor()
  await page.getByRole('button', { name: 'Log out everywhere else' }).click()
  await page.getByText('Session from').first().waitFor({ state: 'detached' })
  // The session of the account pages has ended too, so that there is nothing to ask.
  await page.getByRole('button', { name: 'Log out', exact: true }).click()
  await page.getByRole('heading', { name: 'Your notes, on every device' }).waitFor()

  // A new password, with the pages of Latchkey.
  await signIn()
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await field(page, 'Email').fill(EMAIL)
  await page.getByRole('button', { name: 'Send link' }).click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  await page.goto(await find(/(http:\S+\/reset-password\/\?code=\S+)/))
  await field(page, 'New password').fill(NEW_PASSWORD)
  await field(page, 'Confirm new password').fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Set new password' }).click()
  await page.getByRole('link', { name: 'Sign in' }).click()
  await logIn(page, NEW_PASSWORD)
  await page.getByText('Buy milk <b>today</b>').waitFor()
  isClean()

  // The account gets codes of an app; the next login takes two steps. The last code is used up, and the next one is accepted early.
  const secret: string = await evaluateWithClient(page, latchkeyUrl, '(await client.secondFactor.begin()).secret')
  const step = () => Math.floor(Date.now() / 30_000)
  await evaluateWithClient(page, latchkeyUrl, `client.secondFactor.confirm('${codeAt(secret, step())}')`)
  await page.getByRole('button', { name: 'Log out', exact: true }).click()
  await page.getByRole('heading', { name: 'Do you want to sign out?' }).waitFor()
  await photograph('sign-out')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await signIn()
  await logIn(page, NEW_PASSWORD)
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  await photograph('second-step')
  await field(page, 'Code').fill('not a code')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This code is wrong').waitFor()
  await field(page, 'Code').fill(codeAt(secret, step() + 1))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Buy milk <b>today</b>').waitFor()
  isClean()
  const twoStep = await evaluateWithClient<{ secondFactor: boolean; current: boolean }[]>(page, latchkeyUrl, 'client.sessions.list()')
  assert.equal(twoStep.find(({ current }) => current)?.secondFactor, true)

  // A passkey, by the calls of the client and the authenticator of the browser.
  await addVirtualAuthenticator(page)
  const passkeys = `[await client.passkeys.add('Laptop'), await client.passkeys.confirm(), await client.logout(), await client.passkeys.signIn()]`
  const [passkey] = await evaluateWithClient<{ name: string }[]>(page, latchkeyUrl, passkeys)
  assert.equal(passkey?.name, 'Laptop')
  const twoSteps = `client.passkeys.signIn(await client.login({ email: '${EMAIL}', password: '${NEW_PASSWORD}' }))`
  await evaluateWithClient(page, latchkeyUrl, twoSteps)
  const conditional = `client.logout().then(() => client.passkeys.signIn({ mediation: 'conditional' }))`
  await evaluateWithClient(page, latchkeyUrl, conditional)
  const sessions = await evaluateWithClient<{ method: string; current: boolean }[]>(page, latchkeyUrl, 'client.sessions.list()')
  assert.equal(sessions.find(({ current }) => current)?.method, 'passkey')
  const aborted = `client.passkeys.signIn({ mediation: 'conditional', signal: AbortSignal.abort(new Error('left')) }).catch(({ message }) => message)`
  assert.equal(await evaluateWithClient(page, latchkeyUrl, aborted), 'left')

  // A URL that cannot be parsed does not stop the product.
  assert.equal((await fetch(`${url}//`)).status, 200)
  assert.equal((await fetch(`${url}/api/notes`)).status, 401)

  // The page talks to Latchkey, and to nobody else.
  const { host } = new URL(latchkeyUrl)
  assert.deepEqual(
    problems.filter((problem) => problem !== `request to ${host}`),
    [],
  )
})
