import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import type { AcceptedKeys } from '../../src/http/pipeline/declarations.ts'
import type { KeyAccess } from '../../src/model/api-key.ts'
import { admin, keyHolder } from '../support/app/actors.ts'
import { refused } from '../support/app/assertions.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { nameOf, rowOf, urlOf } from '../support/http/api-routes.ts'
import { operationsOf } from '../support/http/openapi.ts'
import { EVERY_ROUTE, routesDuring } from '../support/http/routes.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const
type Method = (typeof METHODS)[number]

/** The keys that a route accepts, by the table that is written down independently of the declarations of the routes. */
const ACCEPTED_BY: Readonly<Record<KeyAccess, readonly (AcceptedKeys | undefined)[]>> = {
  full: ['full', 'read', 'identify', 'any'],
  read: ['read', 'any'],
  identify: ['identify', 'any'],
}

/** A key that may only read may also call a route that identifies its owner, with GET. */
function mayCall(access: KeyAccess, route: string): boolean {
  const { keys } = rowOf(route.replace(/^HEAD /, 'GET '))
  return ACCEPTED_BY[access].includes(keys) || (access === 'read' && keys === 'identify' && /^(?:GET|HEAD) /.test(route))
}

const ALIASES: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => (path.endsWith('/') ? path.slice(0, -1) : `${path}/`),
  (path) => `/api/v1${path}`,
  (path) => `/api/v1${path.endsWith('/') ? path.slice(0, -1) : `${path}/`}`,
]

/** The status for a key with this access: 405 if there is no such route, and 0 if the access does not matter. */
function expectedStatus(isRoute: boolean, access: KeyAccess, route: string): number {
  if (!isRoute) return 405
  return mayCall(access, route) ? 0 : 403
}

for (const access of ['full', 'read', 'identify'] as const) {
  test(`403: a key with ${access} access calls no route outside of it, by any method and under any alias of the path`, async (t) => {
    const { routes, started: service } = await routesDuring(() => startApp(t, { env: EVERY_ROUTE }))
    for (const path of await protectedPaths(service)) {
      // The caller is an admin, so that only the access of the key can be the reason for a refusal.
      const boss = await admin(service)
      let { headers } = await keyHolder(service, boss, { access })
      for (const method of METHODS) {
        const expected = expectedStatus(routes.has(`${method} ${path}`), access, `${method} ${path}`)
        for (const alias of ALIASES) {
          const url = urlOf(alias(path))
          const response = await service.app.inject({ method: method as Exclude<Method, 'TRACE'>, url, headers })
          compare(response, expected, `${method} ${url}: ${response.statusCode} ${response.body}`)
          // A route may have deleted the key that called it.
          if (response.statusCode < 300) ({ headers } = await keyHolder(service, boss, { access }))
        }
      }
    }
  })
}

function compare(response: LightMyRequestResponse, expected: number, place: string): void {
  if (expected === 0) assert.ok(![401, 403, 405, 500].includes(response.statusCode), place)
  else assert.equal(response.statusCode, expected, place)
  if (expected === 403 && response.body !== '') refused(response, 403, 'Not enough permissions')
}

async function protectedPaths({ app }: TestApp): Promise<string[]> {
  const operations = operationsOf((await app.inject('/openapi.json')).json())
  const paths = operations.filter(({ operation }) => operation.security.length > 0).map(({ path }) => nameOf(path))
  return [...new Set(paths)]
}
