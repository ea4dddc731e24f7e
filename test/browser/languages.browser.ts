import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { eventually } from '../support/app/eventually.ts'
import { devMailUrl, startProcess } from '../support/processes/service-process.ts'
import { openBrowser, openPage, SCREENSHOTS } from '../support/servers/browser.ts'

const EMAIL = 'mia@example.com'
const PASSWORD = 'correct horse battery'
const WIDTHS = [390, 1280]

test('the account pages in German fit on a phone and on a desktop, and the script speaks German', async (t) => {
  const browser = await openBrowser(t)
  const service = await startProcess(t, { SELF_DELETION: 'true', EMAIL_SIGN_IN: 'true' })
  const { page, problems } = await openPage(browser, service.url, {
    locale: 'de-DE',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  mkdirSync(SCREENSHOTS, { recursive: true })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  const look = async (name: string, path?: string) => {
    if (path !== undefined) await page.goto(`${service.url}${path}`)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 844 })
      const actual = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(actual <= width, `${name} is wider than the screen: ${actual}`)
      await page.screenshot({ path: `${SCREENSHOTS}/german-${name}-${width}.png`, fullPage: true, animations: 'disabled' })
    }
  }

  await look('start', '/')
  await look('sign-in', '/account/sign-in')
  await look('register', '/account/register')
  await fill('Vorname', 'Mia')
  await fill('Nachname', 'Muster')
  await fill('E-Mail-Adresse', EMAIL)
  await fill('Passwort', PASSWORD)
  await press('Konto erstellen')
  await page.getByText('Dein Konto wurde erstellt.').waitFor()
  const { links } = await eventually('the mail is sent', async () => {
    const [mail] = (await (await fetch(`${devMailUrl(service)}&to=${EMAIL}`)).json()) as { links: string[] }[]
    return mail
  })
  const { pathname, search } = new URL(links.find((link) => link.includes('/verify/')) ?? '')
  await page.goto(`${service.url}${pathname}${search}`)
  await page.getByRole('heading', { name: 'Deine Adresse ist bestätigt' }).waitFor()
  await page.goto(`${service.url}/account/sign-in`)
  await fill('E-Mail-Adresse', EMAIL)
  await fill('Passwort', PASSWORD)
  await press('Anmelden')
  await page.getByRole('heading', { name: 'Profil', exact: true }).waitFor()
  for (const [name, path] of [
    ['profile', '/account/'],
    ['password', '/account/password'],
    ['security', '/account/security'],
    ['sessions', '/account/sessions'],
    ['new-key', '/account/keys/new'],
  ] as const)
    await look(name, path)
  await fill('Name', 'Nächtlicher Export')
  await press('API-Schlüssel erstellen')
  await press('Kopieren')
  await page.getByRole('button', { name: 'Kopiert', exact: true }).waitFor()
  await look('key')
  await look('keys', '/account/keys')
  assert.deepEqual(problems, [])
})
