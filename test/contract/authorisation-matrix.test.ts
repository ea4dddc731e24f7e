import assert from 'node:assert/strict'
import type { FastifyContextConfig } from 'fastify'
import { present } from '../../src/http/pipeline/declarations.ts'
import { type Actor, admin, keyHolder, member } from '../support/app/actors.ts'
import { refused } from '../support/app/assertions.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { API_ROUTES, API_ROUTES_FILE, type ApiRoute, BODIES, exampleOf, routesWith, rowOf } from '../support/http/api-routes.ts'
import { forge, payloadOf } from '../support/http/forged-tokens.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { EVERY_ROUTE, routesDuring } from '../support/http/routes.ts'

/**
 * Every caller. The request is about the caller's own account, except for the callers `nothing`, `garbage`, `another` and both admins, where
 * it is about the account of another user. An invalid credential is a real one that is expired, of the wrong type, or of an account that is
 * unverified or banned.
 */
const CALLERS = [
  'nothing',
  'garbage',
  'expired',
  'refresh',
  'unverified',
  'banned',
  'user',
  'another',
  'admin',
  'user’s key',
  'admin’s key',
] as const
type CallerName = (typeof CALLERS)[number]

/** The files of the explorers are not in the table. Pages have their own: test/http/web/site/page-access.test.ts. */
const EXPLORER_FILE = /^GET \/assets\/./
const PAGE = /^(?:GET|POST) \/(?:console|account)(?:\/|$)/

const UNAUTHENTICATED: Partial<Record<CallerName, string>> = {
  nothing: 'Not authenticated. Use either JWT token or API key.',
  expired: 'That token has Expired',
}

const STRANGERS: readonly CallerName[] = ['nothing', 'garbage', 'expired', 'refresh', 'unverified', 'banned']
const OWNERS: readonly CallerName[] = ['user', 'user’s key']

/** The status that the table of routes means for a caller. */
function expectedStatus(endpoint: string, caller: CallerName): number {
  const { access, keys, only, success, status = [success].flat()[0] ?? 0 } = rowOf(endpoint)
  if (access === 'public') return status
  if (STRANGERS.includes(caller)) return 401
  const kind = caller.endsWith('key') ? 'key' : 'session'
  const isAdmin = caller.startsWith('admin')
  const isPermitted = access === 'user' || isAdmin || (access === 'self' && OWNERS.includes(caller))
  if (!isPermitted || (keys === 'none' && kind === 'key')) return 403
  if (only !== undefined && only !== kind) return 400
  // The keys and sessions of others do not exist for anybody.
  const namesOwn = access === 'user' && /:(?:key|session)_id/.test(endpoint)
  return namesOwn && !OWNERS.includes(caller) ? 404 : status
}

type CallerSetup = { readonly subject: Actor; readonly headers: Readonly<Record<string, string>> }
/** The accounts of each column that no request has changed yet. */
type Unchanged = Map<CallerName, CallerSetup & { readonly keyId: string }>
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Creates a caller, and the account that the request is about. */
const SETUPS: Readonly<Record<CallerName, (service: TestApp) => Promise<CallerSetup>>> = {
  nothing: async (service) => ({ subject: await member(service), headers: {} }),
  garbage: async (service) => ({ subject: await member(service), headers: bearer('garbage') }),
  expired: async (service) => {
    const subject = await member(service)
    const payload = { ...payloadOf(subject.token), exp: Math.floor(service.clock.now() / 1000) }
    return { subject, headers: bearer(forge({ payload })) }
  },
  refresh: async (service) => {
    const subject = await member(service)
    return { subject, headers: bearer(subject.refresh) }
  },
  unverified: async (service) => {
    const subject = await member(service, { verified: false })
    return { subject, headers: subject.headers }
  },
  banned: async (service) => {
    const subject = await member(service)
    await service.services.userAdministration.ban(OPERATOR, subject.id)
    return { subject, headers: subject.headers }
  },
  user: async (service) => {
    const subject = await member(service)
    return { subject, headers: subject.headers }
  },
  another: async (service) => ({ subject: await member(service), headers: (await member(service)).headers }),
  admin: async (service) => ({ subject: await member(service), headers: (await admin(service)).headers }),
  'user’s key': async (service) => {
    const subject = await member(service)
    return { subject, headers: (await keyHolder(service, subject)).headers }
  },
  'admin’s key': async (service) => ({
    subject: await member(service),
    headers: (await keyHolder(service, await admin(service))).headers,
  }),
}

async function call(service: TestApp, unchanged: Unchanged, endpoint: string, caller: CallerName) {
  const setup = unchanged.get(caller) ?? (await newAccounts(service, caller))
  const { subject, headers, keyId } = setup
  const request = await exampleOf(endpoint, { service, subject, keyId })
  const response = await service.app.inject({ ...request, headers })
  // After a change, the next request is about new accounts.
  if (request.method === 'GET' || response.statusCode >= 400) unchanged.set(caller, setup)
  else unchanged.delete(caller)
  return response
}

async function newAccounts(service: TestApp, caller: CallerName) {
  const { subject, headers } = await SETUPS[caller](service)
  const { keyId } = await keyHolder(service, subject)
  return { subject, headers, keyId }
}

test('every endpoint returns the status of the matrix to every caller', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const unchanged: Unchanged = new Map()
  const differences: string[] = []

  /** Compares a response with the table: the status and, for 401 and 403, the body. */
  async function compare(endpoint: string, caller: CallerName): Promise<void> {
    const expected = expectedStatus(endpoint, caller)
    const response = await call(service, unchanged, endpoint, caller)
    if (response.statusCode !== expected) differences.push(`${endpoint} for ${caller}: ${response.statusCode}, not ${expected}`)
    else if (expected === 401) refused(response, 401, UNAUTHENTICATED[caller] ?? 'That token is Invalid')
    else if (expected === 403) refused(response, 403, 'Not enough permissions')
  }

  for (const endpoint of Object.keys(API_ROUTES)) for (const caller of CALLERS) await compare(endpoint, caller)
  assert.deepEqual(differences, [], `compared with ${API_ROUTES_FILE}`)
})

/** What a route declares, in the words of the table. */
function rightsOf({ access, acceptedKeys, needsConfirmation, worksWithoutFactor, guardsRole }: FastifyContextConfig): object {
  const factor = present(worksWithoutFactor === true && 'never', worksWithoutFactor === 'setup' && 'setup', guardsRole && 'guards role')
  return {
    access,
    ...(acceptedKeys && { keys: acceptedKeys }),
    ...(needsConfirmation && { confirmation: true }),
    ...(factor.length > 0 && { factor: factor.join(' and ') }),
  }
}

test('the table has every endpoint and no other, and each endpoint declares what its row says', async (t) => {
  const { configs } = await routesDuring(() => startApp(t, { env: EVERY_ROUTE }))
  const endpoints = [...configs].filter(([route]) => !route.startsWith('HEAD ') && !EXPLORER_FILE.test(route) && !PAGE.test(route))
  const unlisted = endpoints.map(([route]) => route).filter((route) => API_ROUTES[route] === undefined)
  assert.deepEqual(unlisted, [], `add a row for each of them to ${API_ROUTES_FILE}`)
  const gone = Object.keys({ ...API_ROUTES, ...BODIES }).filter((route) => !configs.has(route))
  assert.deepEqual(gone, [], `remove their rows from ${API_ROUTES_FILE}`)
  const rights = ({ success: _success, status: _status, only: _only, ...others }: ApiRoute) => others
  assert.deepEqual(
    Object.fromEntries(endpoints.map(([route, config]) => [route, rightsOf(config)])),
    Object.fromEntries(Object.entries(API_ROUTES).map(([route, row]) => [route, rights(row)])),
    `what the routes declare differs from the rows in ${API_ROUTES_FILE}`,
  )
})

test('403: a session that was neither opened nor confirmed lately, on every route that needs it, and on no other', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const refusing: string[] = []
  for (const route of routesWith(({ access }) => access !== 'public')) {
    const subject = await admin(service)
    const request = await exampleOf(route, { service, subject, keyId: (await keyHolder(service, subject)).keyId })
    service.clock.advance({ minutes: 11 })
    const response = await service.app.inject({ ...request, headers: subject.headers })
    if (response.headers['x-error-code'] === 'confirmation_required') refusing.push(route)
  }
  assert.deepEqual(
    refusing,
    routesWith(({ confirmation }) => confirmation === true),
    `compared with ${API_ROUTES_FILE}`,
  )
})
