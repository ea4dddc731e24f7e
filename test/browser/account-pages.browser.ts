import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { eventually } from '../support/app/eventually.ts'
import { devMailUrl, type ServiceProcess, startProcess } from '../support/processes/service-process.ts'
import { openBrowser, openPage, SCREENSHOTS } from '../support/servers/browser.ts'

const EMAIL = 'mia@example.com'
const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'a brand new password'

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  'phone-light': { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  'desktop-light': { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
}

/** Photographs the present page in each form, without loading it again: a secret is shown once. */
async function photograph(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  for (const [look, { viewport, colorScheme }] of Object.entries(LOOKS)) {
    if (viewport) await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme: colorScheme ?? null })
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    assert.ok(width <= (viewport?.width ?? 0), `${name} is wider than the screen: ${width}`)
    await page.screenshot({ path: `${SCREENSHOTS}/account-${name}-${look}.png`, fullPage: true, animations: 'disabled' })
  }
}

async function mailTo(service: ServiceProcess, email: string): Promise<{ links: string[] }> {
  return eventually(`a mail to ${email} is sent`, async () => {
    const [mail] = (await (await fetch(`${devMailUrl(service)}&to=${email}`)).json()) as { links: string[] }[]
    return mail
  })
}

for (const javaScriptEnabled of [true, false]) {
  test(`an account from registration to deletion, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const browser = await openBrowser(t)
    const service = await startProcess(t, { SELF_DELETION: 'true', KEY_SCOPES: 'reports:read,reports:write' })
    const { page, problems } = await openPage(browser, service.url, {
      javaScriptEnabled,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const shoot = (name: string) => (javaScriptEnabled ? photograph(page, name) : Promise.resolve())
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
    const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor()

    await page.goto(`${service.url}/account/sign-in`)
    await shoot('sign-in')
    await page.getByRole('link', { name: 'Create an account' }).click()
    await fill('First name', 'Mia')
    await fill('Last name', 'Muster')
    await fill('Email', EMAIL)
    await fill('Password', PASSWORD)
    await shoot('register')
    await press('Create account')
    await heading('Check your email')
    await shoot('registered')
    const [link = ''] = (await mailTo(service, EMAIL)).links
    await page.goto(link.replace(/^http:\/\/[^/]+/, service.url))
    await heading('Your address is verified')

    await page.goto(`${service.url}/account/keys`)
    await fill('Email', EMAIL)
    await fill('Password', PASSWORD)
    await press('Sign in')
    await heading('API keys')
    await shoot('keys-empty')
    await page.getByRole('link', { name: 'Create API key' }).click()
    await heading('Create an API key')
    await shoot('key-new')
    await fill('Name', 'Nightly export')
    for (const scope of ['reports:read', 'reports:write']) await page.getByLabel(scope, { exact: true }).check()
    await press('Create API key')
    await heading('Nightly export')
    const key = page.getByLabel('API key', { exact: true })
    const secret = await key.inputValue()
    assert.match(secret, /^lk_/)
    await shoot('key-created')
    if (javaScriptEnabled) {
      await press('Copy')
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret)
      // Without https there is no clipboard, except on the same machine.
      await page.evaluate(`globalThis.clipboard = navigator.clipboard
        Object.defineProperty(navigator, 'clipboard', { value: undefined })
        clipboard.writeText('')`)
      await press('Copy')
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      assert.equal(await page.evaluate('clipboard.readText()'), secret)
    } else assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0)
    const me = await fetch(`${service.url}/users/me`, { headers: { 'x-api-key': secret } })
    assert.equal(me.status, 200)
    await page.reload()
    assert.equal(await key.count(), 0, 'the secret is shown once')

    await press('Rotate')
    const rotated = await key.inputValue()
    assert.notEqual(rotated, secret)
    await page.reload()
    assert.equal((await fetch(`${service.url}/users/me`, { headers: { 'x-api-key': rotated } })).status, 200, 'a reload rotates nothing')
    await press('Disable')
    await page.getByText('The API key is disabled.').waitFor()
    await press('Enable')
    await page.getByText('The API key is enabled.').waitFor()
    await shoot('key')
    await page.goto(`${service.url}/account/keys`)
    assert.equal(await page.getByRole('link', { name: 'Nightly export' }).count(), 1, 'a reload creates nothing')
    await shoot('keys')
    await page.getByRole('link', { name: 'Nightly export' }).click()
    await page.getByText('Delete…').click()
    await press('Delete')
    await page.getByText('The API key has been deleted.').waitFor()

    await page.goto(`${service.url}/account/sessions`)
    await heading('Sessions')
    await shoot('sessions')
    await page.goto(`${service.url}/account/password`)
    await fill('Current password', 'not the password')
    await fill('New password', NEW_PASSWORD)
    await fill('Confirm new password', NEW_PASSWORD)
    await press('Change password')
    await page.getByText('This is not your current password').waitFor()
    await shoot('password-wrong')
    await fill('Current password', PASSWORD)
    await fill('New password', NEW_PASSWORD)
    await fill('Confirm new password', NEW_PASSWORD)
    await press('Change password')
    await page.getByText('Your password has been changed.').waitFor()

    await page.goto(`${service.url}/account/`)
    await fill('First name', 'Amelia')
    await press('Save')
    await page.getByText('Your name has been saved.').waitFor()
    await fill('Email', 'amelia@example.com')
    await press('Change address')
    await page.getByText('The new address gets an email with a link.').waitFor()
    await shoot('profile')
    const [confirmation = ''] = (await mailTo(service, 'amelia@example.com')).links
    await page.goto(confirmation.replace(/^http:\/\/[^/]+/, service.url))
    await page.goto(`${service.url}/account/`)
    assert.equal(await page.getByLabel('Email', { exact: true }).inputValue(), 'amelia@example.com')

    await page.getByText('Delete…').click()
    await fill('Password', NEW_PASSWORD)
    await press('Delete account')
    await heading('Goodbye')
    await shoot('goodbye')
    await page.goto(`${service.url}/account/forgot-password`)
    await shoot('forgot-password')
    await fill('Email', EMAIL)
    await press('Send link')
    await heading('Check your email')
    await shoot('forgot-password-done')
    assert.deepEqual(problems, [])
  })
}
