import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { KeyAccess } from '../../src/model/api-key.ts'
import { admin, keyHolder } from '../support/app/actors.ts'
import { refused } from '../support/app/assertions.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { operationsOf } from '../support/http/openapi.ts'
import { EVERY_ROUTE, routesDuring } from '../support/http/routes.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const
type Method = (typeof METHODS)[number]

/** Routes that every key may call. */
const FOR_EVERY_KEY = ['DELETE /auth/key']
const FOR_IDENTIFICATION = [
  'GET /users/me',
  'HEAD /users/me',
  'GET /auth/check',
  'HEAD /auth/check',
  'POST /auth/introspect',
  'POST /auth/token',
  ...FOR_EVERY_KEY,
]

/** Routes that change how an account is opened: no key may call them. */
const FOR_SESSIONS = [
  'POST /users/me/confirm',
  'POST /users/me/second-factor/totp',
  'POST /users/me/second-factor/totp/confirm',
  'DELETE /users/me/second-factor/totp',
  'POST /users/me/second-factor/recovery-codes',
  'POST /users/me/passkeys/options',
  'POST /users/me/passkeys',
  'DELETE /users/me/passkeys/:id',
  'DELETE /users/me/providers/:provider',
]

/** The documented routes of each access, written down independently of the declarations of the routes. */
const MAY_CALL: Readonly<Record<KeyAccess, (route: string) => boolean>> = {
  full: (route) => !FOR_SESSIONS.includes(route),
  read: (route) => /^(?:GET|HEAD) /.test(route) || FOR_EVERY_KEY.includes(route),
  identify: (route) => FOR_IDENTIFICATION.includes(route),
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
  return MAY_CALL[access](route) ? 0 : 403
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
          const url = alias(path)
            .replace(':user_id', '987654')
            .replace(/:(?:\w+_)?id/, randomUUID())
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
  const paths = operations.filter(({ operation }) => operation.security.length > 0).map(({ path }) => path.replace(/\{(\w+)\}/g, ':$1'))
  return [...new Set(paths)]
}
