import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { startApp } from '../../../support/app/start-app.ts'
import { SAME_ORIGIN, visit } from '../../../support/http/pages.ts'
import { EVERY_ROUTE, routesDuring } from '../../../support/http/routes.ts'

const NOT_FOUND = [404, 'path_not_found', undefined]
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE']
const TOKEN = 'a-token-for-tests'

/** Other spellings of a path, which a proxy or a router may treat as equal. */
function aliasesOf(path: string): string[] {
  const encoded = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`
  return [
    `/api/v1${path}`,
    `/api/v1${path}/`,
    `/api/v1${path}?a=1`,
    `/api/v1/${path}`,
    `/api/v1/api/v1${path}`,
    `/%61pi/v1${path}`,
    `http://localhost/api/v1${path}`,
    `/${path}`,
    `${path}//`,
    path.replace(/(?<=.)\//, '//'),
    path.replace(/(?<=.)\//, '%2f'),
    path.replace(/(?<=.)\//, '%5c'),
    `/.${path}`,
    `/x/..${path}`,
    `${path};x=1`,
    path.replace(/[a-z]/, encoded),
    path.replace(/[a-z]/g, encoded),
    // The end of the path, which may be a parameter.
    path.replace(/[a-z0-9]$/, encoded),
    path.replace(/[a-z]/, (letter) => letter.toUpperCase()),
  ].filter((alias) => alias !== path)
}

/** Pages for this machine need it, and the others ignore it. */
function withToken(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}token=${TOKEN}`
}

test('404: a page and its files have one address, with or without a trailing slash, whatever the method', async (t) => {
  const { routes, started } = await routesDuring(() => startApp(t, { env: EVERY_ROUTE, firstAdminToken: TOKEN }))
  const { app } = started
  const pages = new Set([...routes].map((route) => route.split(' ')[1] ?? '').filter((url) => /^\/(?:console|account)\b/.test(url)))
  const { body } = await app.inject(visit('/account/sign-in'))
  const files = new Set([...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, url = '']) => url))
  assert.deepEqual([pages.size > 20, pages.has('/console/first-admin'), files.size], [true, true, 3])
  const { port } = new URL(await app.listen({ port: 0 }))
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())

  for (const url of [...pages, ...files]) {
    const path = url.replace(':key_id', randomUUID()).replace(/:\w+/g, '999999').replace(/\/$/, '')
    for (const method of METHODS) {
      for (const same of [path, `${path}/`, `${path}?a=1`, `http://localhost${path}`].map(withToken))
        assert.notDeepEqual(await ask(method, same), NOT_FOUND, `${method} ${same}`)
      for (const alias of aliasesOf(path).map(withToken)) assert.deepEqual(await ask(method, alias), NOT_FOUND, `${method} ${alias}`)
    }
  }

  /** Sends the path as it is: other clients rewrite some of the spellings. */
  async function ask(method: string, path: string): Promise<unknown[]> {
    const sent = request({ host: '127.0.0.1', port, agent, method, path, headers: SAME_ORIGIN }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    return [response.statusCode, response.headers['x-error-code'], response.headers.allow]
  }
})
