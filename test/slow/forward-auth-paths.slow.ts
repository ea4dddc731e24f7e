import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { type TestContext, test } from 'node:test'
import express from 'express'
import { boundPort } from '../../src/shared/addresses.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { startApp } from '../support/app/start-app.ts'
import { PROXIES, request, type StartProxy } from '../support/servers/front-proxies.ts'
import { serve } from '../support/servers/listen.ts'
import { ORDINARY_PATHS, REFUSED_PATHS, type Rule } from '../support/servers/path-tables.ts'

type Arrived = { readonly url: string; readonly role: string | undefined; readonly isAdminPage: boolean }

/** Ways in which products find the path of a request. */
const READINGS: readonly ((url: string) => string)[] = [
  (url) => url,
  (url) => new URL(url, 'http://app.example.com').pathname,
  (url) => decodeURIComponent(url.split('?')[0] ?? ''),
  (url) => posix.normalize(decodeURIComponent(url.split(/[?#]/)[0] ?? '')),
  (url) => posix.normalize(decodeURIComponent((url.split(/[?#]/)[0] ?? '').replaceAll(/;[^/]*/g, '')).replaceAll('\\', '/')),
]

function leadsToAdmin(url: string): boolean {
  return READINGS.some((read) => {
    try {
      return /^\/admin(?![^/?#])/i.test(read(url))
    } catch {
      return false
    }
  })
}

/** A product whose pages below /admin belong to admins, and which notes every request that reaches it. */
async function startProduct(t: TestContext): Promise<{ port: number; arrived: Arrived[] }> {
  const arrived: Arrived[] = []
  const app = express()
  const note =
    (isAdminPage: boolean): express.RequestHandler =>
    ({ originalUrl: url, headers }, response) => {
      arrived.push({ url, role: headers['latchkeyrole']?.toString(), isAdminPage: isAdminPage || leadsToAdmin(url) })
      response.end()
    }
  app.use('/admin', note(true))
  app.use(note(false))
  return { ...(await serve(t, app)), arrived }
}

async function stage(t: TestContext, start: StartProxy) {
  const service = await startApp(t)
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const product = await startProduct(t)
  const port = await start(t, { check: boundPort(service.app.server), product: product.port })
  const [mia, boss] = [await member(service), await admin(service)]
  const callers = { mia, boss, plain: await keyHolder(service, mia), scoped: await keyHolder(service, mia, { scopes: ['reports:read'] }) }
  const status = async (path: string, caller?: keyof typeof callers) => {
    const headers = Object.entries(caller ? callers[caller].headers : {}).map(([name, value]) => `${name}: ${value}`)
    return (await request(port, path, headers)).status
  }
  return { product, arrived: product.arrived, status }
}

/** Every path of up to three pieces and the separators between them. */
function* combinations(): Generator<string> {
  const pieces = ['admin', '%61DMIN', 'x', '..', '.%2E', '', '..;', '..#', 'http:']
  const separators = ['/', '//', '%2f', '\\', '%5C']
  for (const first of separators)
    for (const a of pieces)
      for (const second of separators) for (const b of pieces) for (const c of ['admin', 'x', '..']) yield `${first}${a}${second}${b}/${c}`
}

const EXPECTED: Readonly<Record<Rule, readonly number[]>> = {
  everybody: [401, 200, 200, 200, 200],
  admin: [401, 403, 200, 403, 403],
  reports: [401, 200, 200, 403, 200],
}

for (const [name, start] of Object.entries(PROXIES)) {
  test(`400: ${name} refuses a path that the product may read differently, before it asks Latchkey`, async (t) => {
    const { product, arrived, status } = await stage(t, start)
    const failed: string[] = []
    for (const path of REFUSED_PATHS)
      for (const caller of [undefined, 'mia', 'boss'] as const) {
        const got = await status(path, caller)
        if (got !== 400) failed.push(`${path} of ${caller ?? 'nobody'}: ${got}`)
      }
    assert.deepEqual([failed, arrived.map(({ url }) => url)], [[], []])
    const withoutLatchkey = await start(t, { check: 9, product: product.port })
    for (const path of REFUSED_PATHS) assert.equal((await request(withoutLatchkey, path, ['X-API-Key: any'])).status, 400, path)
  })

  test(`200: behind ${name} an ordinary path reaches the product unchanged, under its own rule, whatever its query`, async (t) => {
    const { arrived, status } = await stage(t, start)
    const failed: string[] = []
    const rows = Object.entries(ORDINARY_PATHS).flatMap(([rule, paths]) => paths.map((path) => [path, EXPECTED[rule as Rule]] as const))
    for (const [path, expected] of rows) {
      arrived.splice(0)
      const got = []
      for (const caller of [undefined, 'mia', 'boss', 'plain', 'scoped'] as const) got.push(await status(path, caller))
      const passed = arrived.map(({ url }) => url)
      if (got.join() !== expected.join()) failed.push(`${path}: ${got}, not ${expected}`)
      else if (passed.some((url) => url !== path)) failed.push(`${path}: the product received ${passed}`)
    }
    assert.deepEqual(failed, [])
    assert.equal(await status('http://app.example.com/x?y', 'plain'), 200)
    assert.equal(arrived.at(-1)?.url, '/x?y', 'of an absolute URL the path arrives')
  })

  test(`403: behind ${name} nobody but an admin reaches the pages of admins, in any spelling of their path`, async (t) => {
    const { arrived, status } = await stage(t, start)
    const tried = [...REFUSED_PATHS, ...Object.values(ORDINARY_PATHS).flat(), ...combinations()]
    for (const path of tried) await status(path, 'mia')
    const reached = arrived.filter(({ isAdminPage, role }) => isAdminPage && role !== 'admin')
    assert.deepEqual(reached, [])
    t.diagnostic(`${tried.length} paths, ${arrived.length} reached the product`)
    assert.equal(await status('/admin', 'boss'), 200)
    assert.deepEqual(arrived.at(-1), { url: '/admin', role: 'admin', isAdminPage: true })
  })
}
