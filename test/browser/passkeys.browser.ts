import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { member } from '../support/app/actors.ts'
import { turnOnCodes } from '../support/app/codes.ts'
import { startApp } from '../support/app/start-app.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { openBrowser, openPage, signIn } from '../support/servers/browser.ts'
import { addPasskey, plugIn, withoutAutofill } from '../support/servers/browser-passkeys.ts'
import { freePort } from '../support/servers/free-port.ts'

type Stored = { readonly credentials: { readonly credentialId: string; readonly signCount: number }[] }

/** A service at an address that browsers accept passkeys for. Clock and browser have the same time. */
async function start(t: Parameters<typeof startApp>[0]) {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const service = await startApp(t, { env: { BASE_URL: url } })
  await service.app.listen({ port, host: '127.0.0.1' })
  return { ...service, url, mia: await member(service) }
}

const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' }).click()

test('a passkey is added, signs in by the button, confirms, and no longer signs in once it is removed', async (t) => {
  const { url, mia, clock } = await start(t)
  const { page, problems } = await openPage(await openBrowser(t), url)
  await plugIn(page)
  await withoutAutofill(page)
  await signIn(page, `${url}/account/sign-in`, mia, 'Profile')
  await addPasskey(page, url, 'My laptop')
  await signOut(page)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { name: 'Profile' }).waitFor()

  clock.advance({ minutes: 11 })
  await page.goto(`${url}/account/security`)
  await page.getByRole('link', { name: 'My laptop' }).click()
  await page.getByText('Remove…').click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The passkey has been removed.').waitFor()
  await signOut(page)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('This passkey was not accepted.').waitFor()
  assert.deepEqual(problems, [])
})

test('the email field offers saved passkeys, and one of them is a second step too', async (t) => {
  const service = await start(t)
  const { url, mia } = service
  const { page, problems } = await openPage(await openBrowser(t), url)
  const { session, authenticatorId } = await plugIn(page)
  await signIn(page, `${url}/account/sign-in`, mia, 'Profile')
  await addPasskey(page, url, 'My laptop')
  await turnOnCodes(service, mia)
  // Nobody touches it, so that the page waits for the second step and for the choice in the email field.
  const touch = (enabled: boolean) => session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
  await touch(false)
  await signOut(page)
  assert.equal(await page.getByLabel('Email').getAttribute('autocomplete'), 'username webauthn')
  await page.getByLabel('Email').fill(mia.email)
  await page.getByLabel('Password').fill(mia.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  await touch(true)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { name: 'Profile' }).waitFor()
  // The authenticator chooses for the person: without any click, the field has signed in.
  await signOut(page)
  await page.getByRole('heading', { name: 'Profile' }).waitFor()
  assert.deepEqual(problems, [])
})

test('a copy with a lower counter, a replayed answer, a banned owner and another origin do not sign in', async (t) => {
  const { url, mia, app, services } = await start(t)
  const browser = await openBrowser(t)
  const { page, problems } = await openPage(browser, url)
  const { session, authenticatorId } = await plugIn(page)
  await withoutAutofill(page)
  await signIn(page, `${url}/account/sign-in`, mia, 'Profile')
  await addPasskey(page, url, 'My laptop')
  await signOut(page)
  const press = () => page.getByRole('button', { name: 'Use a passkey' }).click()
  const { credentials } = (await session.send('WebAuthn.getCredentials', { authenticatorId })) as Stored
  const [credential = assert.fail('no passkey')] = credentials
  const sent = page.waitForRequest((request) => request.url().endsWith('/sign-in/passkey'))
  await press()
  const replayed = (await sent).postData() ?? ''
  await page.getByRole('heading', { name: 'Profile' }).waitFor()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  assert.equal((await app.inject({ method: 'POST', url: '/account/sign-in/passkey', headers, payload: replayed })).statusCode, 401)

  await signOut(page)
  await session.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId })
  await session.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount: 0 } as never })
  await press()
  await page.getByText('This passkey was not accepted.').waitFor()

  await services.userAdministration.ban(OPERATOR, mia.id)
  await session.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId })
  await session.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount: 1000 } as never })
  await page.goto(`${url}/account/sign-in`)
  await press()
  await page.getByText('This account is banned').waitFor()
  assert.deepEqual(problems, [])

  // A page of another host that pretends to be this service: the browser keeps the passkey to itself.
  const other = await openPage(browser, url.replace('localhost', '127.0.0.1'))
  await plugIn(other.page)
  await withoutAutofill(other.page)
  await other.page.goto(`${url.replace('localhost', '127.0.0.1')}/account/sign-in`)
  await other.page.getByRole('button', { name: 'Use a passkey' }).click()
  await other.page.getByText('No passkey was used. Try again.').waitFor()
})

for (const javaScriptEnabled of [true, false])
  test(`an invited person creates an account ${javaScriptEnabled ? 'with a passkey' : 'with a password, without JavaScript'}`, async (t) => {
    const { url, services, mailbox } = await start(t)
    const profile = { email: 'ida@example.com', firstName: 'Ida', lastName: 'Invited' }
    await services.invitations.create(OPERATOR, profile, 'user')
    const { page, problems } = await openPage(await openBrowser(t), url, { javaScriptEnabled })
    if (javaScriptEnabled) {
      await plugIn(page)
      await withoutAutofill(page)
    }
    await page.goto(await mailbox.linkFor(profile.email))
    const button = page.getByRole('button', { name: 'Create a passkey instead' })
    assert.equal(await button.isVisible(), javaScriptEnabled)
    if (javaScriptEnabled) await button.click()
    else {
      await page.getByLabel('Password').fill('correct horse battery')
      await page.getByRole('button', { name: 'Create account' }).click()
    }
    await page.getByText('Your account has been created, and you are signed in.').waitFor()
    if (!javaScriptEnabled) return
    await page.goto(`${url}/account/security`)
    await page.getByRole('link', { name: 'First passkey' }).waitFor()
    await signOut(page)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    assert.deepEqual(problems, [])
  })

test('without JavaScript the password and the code sign in, and no page shows a button for passkeys', async (t) => {
  const service = await start(t)
  const { url, mia } = service
  const { page } = await openPage(await openBrowser(t), url, { javaScriptEnabled: false })
  const { code } = await turnOnCodes(service, mia)
  await page.goto(`${url}/account/sign-in`)
  assert.equal(await page.getByText('passkey').filter({ visible: true }).count(), 0)
  await page.getByLabel('Email').fill(mia.email)
  await page.getByLabel('Password').fill(mia.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByLabel('Code').fill(code())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Profile' }).waitFor()
  await page.goto(`${url}/account/security`)
  assert.equal(await page.getByRole('link', { name: 'Add a passkey' }).count(), 0)
})
