import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { TEXTS } from '../../src/http/web/texts/texts.ts'
import { codeAt } from '../../src/security/totp.ts'
import { eventually } from '../support/app/eventually.ts'
import { devMailUrl, startProcess } from '../support/processes/service-process.ts'
import { openBrowser, openPage, SCREENSHOTS } from '../support/servers/browser.ts'

const EMAIL = 'mia@example.com'
const PASSWORD = 'correct horse battery'
const WIDTHS = [390, 1280]
const STEP_MS = 30_000

// A button or a text that leaves the padding of its card.
const OUTSIDE = `[...document.querySelectorAll('.card, .lone main > div')].flatMap((card) => {
  const right = card.getBoundingClientRect().right - parseFloat(getComputedStyle(card).paddingRight) + 1
  return [...card.querySelectorAll('button, .button, summary, p')].filter((part) => part.getBoundingClientRect().right > right)
}).map((part) => part.textContent.trim())`

for (const language of ['de', 'fr', 'es'] as const)
  test(`the account pages in ${TEXTS[language].languageName} fit on a phone and on a desktop, and so does what the script says`, async (t) => {
    const { buttons, fields, keys, links, navigation, register, script, security, signIn } = TEXTS[language]
    const browser = await openBrowser(t)
    const service = await startProcess(t, {
      SELF_DELETION: 'true',
      EMAIL_SIGN_IN: 'true',
      SECOND_FACTOR: 'everybody',
      RATE_LIMITS: 'login:account=3/h',
    })
    const { page, problems } = await openPage(browser, service.url, {
      locale: language,
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
        assert.deepEqual(await page.evaluate(OUTSIDE), [], `${name} at ${width}`)
        await page.screenshot({ path: `${SCREENSHOTS}/${language}-${name}-${width}.png`, fullPage: true, animations: 'disabled' })
      }
    }
    const enter = async (password: string) => {
      await page.goto(`${service.url}/account/sign-in`)
      await fill(fields.email, EMAIL)
      await fill(fields.password, password)
      await press(buttons.signIn)
    }

    await look('start', '/')
    await look('sign-in', '/account/sign-in')
    await look('register', '/account/register')
    await fill(fields.firstName, 'Mia')
    await fill(fields.lastName, 'Muster')
    await fill(fields.email, EMAIL)
    await fill(fields.password, PASSWORD)
    await press(buttons.createAccount)
    await page.getByText(register.done).waitFor()
    const mail = await eventually('the mail is sent', async () => {
      const [sent] = (await (await fetch(`${devMailUrl(service)}&to=${EMAIL}`)).json()) as { links: string[] }[]
      return sent
    })
    const { pathname, search } = new URL(mail.links.find((link) => link.includes('/verify/')) ?? '')
    await page.goto(`${service.url}${pathname}${search}`)
    await page.getByRole('heading', { name: links.verification.done.title }).waitFor()
    await enter(PASSWORD)
    await page.getByRole('heading', { name: navigation.security, exact: true }).waitFor()
    await look('factor-required')
    await press(security.setUp)
    await page.getByRole('heading', { name: security.scan }).waitFor()
    await look('codes')
    const secret = await page.locator('input[name="secret"]').inputValue()
    await fill(fields.code, codeAt(secret, Math.floor(Date.now() / STEP_MS)))
    await press(security.turnOn)
    await page.getByRole('heading', { name: security.recovery }).waitFor()
    await look('recovery-codes')
    await page.getByLabel(security.saved).check()
    await press(buttons.continue)
    await page.getByRole('heading', { name: navigation.security, exact: true }).waitFor()
    for (const [name, path] of [
      ['profile', '/account/'],
      ['password', '/account/password'],
      ['security', '/account/security'],
      ['sessions', '/account/sessions'],
      ['new-key', '/account/keys/new'],
    ] as const)
      await look(name, path)
    await fill(fields.name, 'Export')
    await press(keys.create)
    await press(buttons.copy)
    await page.getByRole('button', { name: script.copied, exact: true }).waitFor()
    await look('key')
    await look('keys', '/account/keys')
    await page.goto(`${service.url}/account/security`)
    await page.evaluate("for (const question of document.querySelectorAll('details')) question.open = true")
    await look('security-on')

    await press(buttons.signOut)
    await enter(PASSWORD)
    await page.getByRole('heading', { name: signIn.codeTitle }).waitFor()
    await look('second-step')
    for (let status = 0; status !== 429; ) {
      const answered = page.waitForResponse(
        (response) => response.request().isNavigationRequest() && response.request().method() === 'POST',
      )
      await enter('wrong')
      status = (await answered).status()
    }
    await look('too-many')
    assert.deepEqual(problems, [])
  })
