import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { BrowserContextOptions } from 'playwright-core'
import { startBusyService } from '../support/app/busy-service.ts'
import { until } from '../support/app/eventually.ts'
import { openBrowser, SCREENSHOTS, signIn } from '../support/servers/browser.ts'
import { freePort } from '../support/servers/free-port.ts'

const IMAGES = fileURLToPath(new URL('../../docs/images', import.meta.url))
// The pictures of the documents differ with the fonts of the machine, so that they are made on request only.
const FOLDER = process.env['UPDATE_PICTURES'] === 'true' ? IMAGES : SCREENSHOTS

const DESKTOP: BrowserContextOptions = { viewport: { width: 1280, height: 800 } }
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 640 }, deviceScaleFactor: 1.5 }

type Picture = { readonly name: string; readonly path: string; readonly visitor?: 'boss' | 'mia'; readonly options: BrowserContextOptions }

/** The pictures in README.md and docs. */
const PICTURES: readonly Picture[] = [
  { name: 'console-overview', path: '/console/', visitor: 'boss', options: DESKTOP },
  { name: 'console-users', path: '/console/users', visitor: 'boss', options: DESKTOP },
  { name: 'console-user', path: '/console/users/2', visitor: 'boss', options: { ...DESKTOP, colorScheme: 'dark' } },
  { name: 'console-status', path: '/console/status', visitor: 'boss', options: DESKTOP },
  { name: 'account-keys', path: '/account/keys', visitor: 'mia', options: DESKTOP },
  { name: 'account-sign-in', path: '/account/sign-in', options: PHONE },
]
const MAX_BYTES = 150_000
const MAX_TOTAL_BYTES = 800_000

test('pictures of the main pages, with a history of some weeks', async (t) => {
  mkdirSync(FOLDER, { recursive: true })
  const port = await freePort()
  // The checks on the overview look for the service at these.
  const service = await startBusyService(t, { PORT: String(port), BASE_URL: `http://localhost:${port}` })
  const url = await service.app.listen({ port, host: '127.0.0.1' })
  const browser = await openBrowser(t)
  for (const { name, path, visitor, options } of PICTURES) {
    const page = await browser.newPage(options)
    page.setDefaultTimeout(120_000)
    const [area, heading] = path.startsWith('/console') ? ['console', 'Overview'] : ['account', 'Profile']
    if (visitor) await signIn(page, `${url}/${area}/sign-in`, service[visitor], heading)
    // The checks compare the clock of the service with that of its responses.
    service.clock.advance({ ms: Math.max(0, Date.now() - service.clock.now()) })
    await page.goto(url + path)
    // The checks run with the first visit.
    await until('the checks have run', async () => {
      const isDone = (await page.getByText('The checks are running').count()) === 0
      if (!isDone) await page.reload()
      return isDone
    })
    await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' })
    await page.close()
  }
})

test('the pictures of the documents are small', () => {
  const sizes = readdirSync(IMAGES).map((name) => ({ name, bytes: statSync(join(IMAGES, name)).size }))
  assert.deepEqual(
    sizes.filter(({ bytes }) => bytes > MAX_BYTES),
    [],
  )
  assert.ok(sizes.reduce((sum, { bytes }) => sum + bytes, 0) < MAX_TOTAL_BYTES)
  for (const { name } of PICTURES)
    assert.ok(
      sizes.some((image) => image.name === `${name}.png`),
      name,
    )
})
