import { existsSync, mkdirSync } from 'node:fs'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Actor } from '../app/actors.ts'
import { runFolder } from '../databases/run-folder.ts'

export const SCREENSHOTS = fileURLToPath(new URL('../../browser/screenshots', import.meta.url))

const CANDIDATES = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

// A machine that is busy may take long for a page.
export const PATIENCE_MS = 120_000

let launched: Promise<Browser> | undefined
after(async () => (await launched)?.close())

/** The headless Chromium of the test file. The pages of a test are closed when it ends, and share nothing with those of other tests. */
export async function openBrowser(t: TestContext): Promise<Browser> {
  launched ??= launch()
  const browser = await launched
  t.after(() => Promise.all(browser.contexts().map((context) => context.close())))
  return browser
}

function launch(): Promise<Browser> {
  const executablePath = CANDIDATES.find((path) => path !== undefined && existsSync(path))
  if (executablePath === undefined)
    throw new Error('no Chromium was found: install one (Debian: apt-get install chromium), or name it in CHROMIUM')
  // Its profiles are removed with the run.
  runFolder()
  return chromium.launch({ executablePath, args: ARGUMENTS, timeout: PATIENCE_MS })
}

export type WatchedPage = { readonly page: Page; readonly problems: string[] }

/** Opens a page that records problems: console errors, policy violations and requests to other hosts. */
export async function openPage(browser: Browser, ownUrl: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(ownUrl) && !request.url().startsWith('data:')) problems.push(`request to ${new URL(request.url()).host}`)
  })
  return { page, problems }
}

/** Opens an address that leads to a form for signing in, and waits for the heading of the page behind it. */
export async function signIn(page: Page, address: string, who: Pick<Actor, 'email' | 'password'>, heading: string): Promise<void> {
  await page.goto(address)
  await page.getByLabel('Email').fill(who.email)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: heading }).waitFor()
}

const LOOKS: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1280, height: 800 } },
  'desktop-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 375, height: 667 }, deviceScaleFactor: 2 },
}

/** Saves screenshots of a page: on a desktop, with dark colours, on a phone. */
export async function photograph(browser: Browser, name: string, open: (page: Page) => Promise<unknown>): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  for (const [look, options] of Object.entries(LOOKS)) {
    const page = await browser.newPage(options)
    page.setDefaultTimeout(PATIENCE_MS)
    await open(page)
    await page.screenshot({ path: `${SCREENSHOTS}/${name}-${look}.png` })
    await page.close()
  }
}
