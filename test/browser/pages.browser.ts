import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Actor } from '../support/app/actors.ts'
import { type BusyService, startBusyService } from '../support/app/busy-service.ts'
import { openBrowser, openPage, signIn } from '../support/servers/browser.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const PHONE = { width: 390, height: 844 }
const MAX_PAGE_BYTES = 60 * 1024
// The stylesheet alone. Less means that something was not counted.
const MIN_PAGE_BYTES = 12 * 1024

const CONSOLE =
  `/ /users /users?q=zzz /users?status=banned&sort=email /users/2 /users/99999 /users/new /users/2/edit /users/invite /keys /keys?q=mia /mail /mail?to=mia@example.com /mail?status=failed /webhooks
/audit /audit?kind=login.failed /status /settings /settings/docs/settings.md /settings/docs/running.md /settings/docs/integration.md`.split(
    /\s+/,
  )
const ACCOUNT = `/ /password /security /security/passkeys/new /sessions /keys /keys/new
/keys/00000000-0000-4000-8000-000000000000`.split(/\s+/)
const PUBLIC = `/ /nowhere /verify/?code=x /reset-password/?code=x /confirm-email/?code=x /account/sign-in /account/sign-in/email
/account/email-sign-in?code=x /account/invitation?code=x /account/register /account/forgot-password /account/resend-verification
/console/sign-in`.split(/\s+/)
// Everything that a page can have.
const SETTINGS = { EMAIL_SIGN_IN: 'true', SELF_DELETION: 'true', PLANS: 'free=60/m pro=600/m', KEY_SCOPES: 'reports:read,reports:write' }

// A card hides what is wider than itself, so that the width of the page does not show it.
const CLIPPED = `[...document.querySelectorAll('.card')].filter((card) => card.scrollWidth > card.clientWidth)
  .map((card) => card.querySelector('h2')?.textContent ?? card.className)`

const WIDER_THAN_CARD = `[...document.querySelectorAll('.scroll')].filter((table) => table.scrollWidth > table.clientWidth)
  .map((table) => table.closest('.card')?.querySelector('h2')?.textContent)`

type Visit = {
  readonly name: string
  readonly visitor: Actor | undefined
  readonly paths: readonly string[]
  /** Pages that the first such link of a list leads to. */
  readonly links?: readonly (readonly [list: string, selector: string])[]
}

function visitsOf({ boss, mia, services }: BusyService): Visit[] {
  const code = services.tokens.forMail('reset', mia.id, mia.resetVersion)
  return [
    { name: 'everybody', visitor: undefined, paths: [...PUBLIC, `/reset-password/?code=${code}`] },
    {
      name: 'a user',
      visitor: mia,
      paths: [...ACCOUNT.map((path) => `/account${path}`), '/console/'],
      links: [['/account/keys', 'td a.main']],
    },
    {
      name: 'an admin',
      visitor: boss,
      paths: CONSOLE.map((path) => `/console${path}`),
      links: [['/console/mail', 'a[href*="/mail/kept/"]']],
    },
  ]
}

/** Shows every page of the service, with a history of some weeks, to a function that reports what is wrong with it. */
async function inspect(
  browser: Browser,
  service: BusyService,
  url: string,
  options: BrowserContextOptions,
  look: (page: Page, path: string) => Promise<string[]>,
): Promise<string[]> {
  const found: string[] = []
  for (const { visitor, paths, links = [] } of visitsOf(service)) {
    const { page, problems } = await openPage(browser, url, options)
    // Each site has its own session.
    const [area, heading] = paths[0]?.startsWith('/console') ? ['console', 'Overview'] : ['account', 'Profile']
    if (visitor) await signIn(page, `${url}/${area}/sign-in`, visitor, heading)
    for (const path of paths) {
      await page.goto(url + path)
      found.push(...(await look(page, path)))
    }
    for (const [list, selector] of links) {
      await page.goto(url + list)
      await page.goto(new URL((await page.locator(selector).first().getAttribute('href')) ?? assert.fail(list), url).href)
      found.push(...(await look(page, page.url())))
    }
    // Also what the browser refuses because of the policy of a page.
    found.push(...problems)
    await page.context().close()
  }
  return found
}

async function violationsOf(page: Page, path: string): Promise<string[]> {
  await page.evaluate(AXE)
  const violations = (await page.evaluate('axe.run({ preload: false }).then(({ violations }) => violations)')) as {
    id: string
    impact: string
    nodes: { html: string }[]
  }[]
  return violations.map(({ id, impact, nodes }) => `${path}: ${impact}: ${id} ${nodes[0]?.html.slice(0, 200)}`)
}

const OPEN_ALL = "for (const details of document.querySelectorAll('details')) details.open = true"

async function sizesOf(page: Page, path: string): Promise<string[]> {
  const width = await page.evaluate<number>('document.documentElement.scrollWidth')
  const clipped = await page.evaluate<string[]>(CLIPPED)
  // The page with its stylesheet, its script and its images, not compressed.
  const bytes = await page.evaluate<number>('performance.getEntries().reduce((sum, entry) => sum + (entry.decodedBodySize ?? 0), 0)')
  return [
    ...(width <= PHONE.width ? [] : [`${path}: ${width} pixels wide`]),
    ...clipped.map((text) => `${path}: wider than its card: ${text}`),
    ...(bytes > MIN_PAGE_BYTES && bytes <= MAX_PAGE_BYTES ? [] : [`${path}: ${bytes} bytes`]),
  ]
}

test('every page, in both colour schemes: axe finds nothing, it is neither wider than a phone nor heavier than 60 KB, and no policy is violated', async (t) => {
  const service = await startBusyService(t, SETTINGS)
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await openBrowser(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    const options = { viewport: PHONE, colorScheme }
    const found = await inspect(browser, service, url, options, async (page, path) => {
      const closed = await violationsOf(page, path)
      // The menu and every question.
      await page.evaluate(OPEN_ALL)
      return [...closed, ...(await sizesOf(page, path)), ...(await violationsOf(page, `${path}, everything open`))]
    })
    assert.deepEqual(found, [], colorScheme)
  }
})

// Where each button is on the page, whatever is scrolled.
const BUTTONS = `[...document.querySelectorAll('main :is(button, .button, summary)')]
  .filter((button) => !button.closest('.confirm > form')).map((button) => button.getBoundingClientRect())
  .map(({ left, top, width }) => [left + scrollX, top + scrollY, width].map(Math.round).join(' '))`

test('a question opens over the page: no button moves, one is open at a time, and Escape closes it', async (t) => {
  const service = await startBusyService(t)
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await openBrowser(t)
  for (const width of [PHONE.width, 1100]) {
    const { page } = await openPage(browser, url, { viewport: { ...PHONE, width } })
    await signIn(page, `${url}/console/sign-in`, service.boss, 'Overview')
    await page.goto(`${url}/console/users/${service.mia.id}`)
    const before = await page.evaluate(BUTTONS)
    const questions = page.locator(':is(.title, .card > header, td) .confirm')
    assert.ok((await questions.count()) > 3)
    for (const question of await questions.all()) {
      await question.locator('summary').click()
      assert.deepEqual(await page.evaluate(BUTTONS), before)
      const box = (await question.locator('form').boundingBox()) ?? assert.fail('the question is not shown')
      assert.ok(box.x >= 0 && box.x + box.width <= width, `${width}: ${box.x} + ${box.width}`)
      // Nothing covers its button, or cuts it off.
      await question.locator('form button').click({ trial: true })
      await page.keyboard.press('Escape')
      assert.equal(await page.locator('.confirm[open]').count(), 0)
      assert.equal(await page.evaluate('document.activeElement.localName'), 'summary')
    }
    for (const question of await page.locator('.title .confirm').all()) await question.locator('summary').click()
    assert.equal(await page.locator('.confirm[open]').count(), 1)
    await page.context().close()
  }
})

test('no table is wider than its card, between a phone and a large screen', async (t) => {
  const service = await startBusyService(t)
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { page } = await openPage(await openBrowser(t), url)
  await signIn(page, `${url}/console/sign-in`, service.boss, 'Overview')
  const found: string[] = []
  for (const path of ['/users', `/users/${service.mia.id}`, '/keys', '/mail', '/webhooks', '/audit']) {
    await page.goto(`${url}/console${path}`)
    for (const width of [320, 600, 768, 820, 980, 1024, 1100, 1180, 1280]) {
      await page.setViewportSize({ ...PHONE, width })
      const wide = await page.evaluate<string[]>(WIDER_THAN_CARD)
      found.push(...wide.map((title) => `${path} at ${width}: ${title}`))
    }
  }
  assert.deepEqual(found, [])
})

test('with the keyboard alone: the first key shows a way past the navigation, and each focus is visible', async (t) => {
  const service = await startBusyService(t)
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await openBrowser(t)
  const { page, problems } = await openPage(browser, url)
  await signIn(page, `${url}/console/sign-in`, service.boss, 'Overview')
  await page.goto(`${url}/console/users`)
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content')
  assert.equal(await page.evaluate('document.activeElement.getBoundingClientRect().top >= 0'), true)
  await page.keyboard.press('Enter')
  // The browser moves the focus when it renders the next frame.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Invite')
  const order: string[] = []
  for (let n = 0; n < 16; n++) {
    const focused = 'const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)'
    assert.match(await page.evaluate<string>(`(() => { ${focused}; return outlineStyle + ' ' + outlineWidth })()`), /^solid 2px$/)
    const name = await page.evaluate<string>('document.activeElement.id || document.activeElement.textContent.trim()')
    // Without the counts of the filters and the arrow of the order.
    order.push(name.replace(/ (?:\d+|[↑↓])$/, ''))
    await page.keyboard.press('Tab')
  }
  assert.deepEqual(order.slice(0, 13), [
    ...['Invite', 'New user', 'q', 'sort', 'Search', 'All', 'Active', 'Unverified', 'Banned', 'Admins'],
    ...['User', 'Created', 'Signed in'],
  ])
  assert.ok(order[13]?.includes('@'), 'then the first user')
  assert.deepEqual(problems, [])
})
