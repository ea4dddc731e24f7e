import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import type { AcceptedKeys, Access } from '../../../src/http/pipeline/declarations.ts'
import { type Actor, emailChangeCode, member } from '../app/actors.ts'
import { issuedCode } from '../app/hand-off.ts'
import { invitationToken, signInToken } from '../app/mailed-links.ts'
import { addPasskey, askForPasskey, firstStep, turnOn } from '../app/second-factor.ts'
import type { TestApp } from '../app/start-app.ts'
import { payloadOf } from './forged-tokens.ts'
import { newEmail, PASSWORD } from './requests.ts'

/** Where to add a route, for the messages of tests. */
export const API_ROUTES_FILE = 'test/support/http/api-routes.ts'

export type ApiRoute = {
  /** Who may call it. `self` is the user that the path names, or an admin. */
  readonly access: Access
  /** The API keys that a protected route accepts. */
  readonly keys?: AcceptedKeys
  /** The session has to be opened or confirmed within the last ten minutes. */
  readonly confirmation?: true
  /** Where a second factor is required: never asked for here, not asked for to set one up, or asked for even where only admins need one. */
  readonly factor?: 'never' | 'setup' | 'guards role'
  /** The only kind of credential that the request makes sense for. The other kind gets 400. */
  readonly only?: 'session' | 'key'
  /** The documented statuses of a success. */
  readonly success: number | readonly number[]
  /** The status of the example below, if it does not succeed. */
  readonly status?: number
}

/**
 * Every route of the API: who may call it, and how it answers. This is written down independently of the declarations of the routes, and
 * test/contract compares both. A new route needs a row here, and in no other table. Pages have their own: page-routes.ts.
 */
export const API_ROUTES: Readonly<Record<string, ApiRoute>> = {
  'POST /register/': { access: 'public', success: 201 },
  'POST /login/': { access: 'public', success: 200 },
  'POST /refresh/': { access: 'public', success: 200 },
  'GET /verify/': { access: 'public', success: 200 },
  'POST /verify/resend/': { access: 'public', success: 200 },
  'POST /forgot-password/': { access: 'public', success: 200 },
  'GET /reset-password/': { access: 'public', success: [200, 302] },
  'POST /reset-password/': { access: 'public', success: 200 },
  'GET /confirm-email/': { access: 'public', success: 200 },
  'POST /login/email': { access: 'public', success: 200 },
  'POST /login/email/confirm': { access: 'public', success: 200 },
  'POST /login/exchange': { access: 'public', success: 200 },
  'GET /login/with/:provider': { access: 'public', success: 303, status: 404 },
  'GET /login/with/:provider/callback': { access: 'public', success: [200, 303], status: 404 },
  'POST /logout/': { access: 'user', keys: 'full', factor: 'never', only: 'session', success: 204 },

  'GET /users/me': { access: 'user', keys: 'identify', factor: 'never', success: 200 },
  'PUT /users/me': { access: 'user', keys: 'full', success: 200 },
  'POST /users/me/password': { access: 'user', keys: 'full', success: 204 },
  'GET /users/': { access: 'admin', keys: 'read', success: 200 },
  'POST /users/': { access: 'admin', keys: 'full', success: 201 },
  'GET /users/search': { access: 'admin', keys: 'read', success: 200 },
  'PUT /users/:user_id': { access: 'self', keys: 'full', success: 200 },
  'POST /users/:user_id/password': { access: 'self', keys: 'full', success: 204 },
  'POST /users/:user_id/make-admin': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/:user_id/revoke-admin': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/:user_id/verify': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/:user_id/ban': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/:user_id/unban': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/invitations': { access: 'admin', keys: 'full', success: 201 },
  'GET /users/invitations': { access: 'admin', keys: 'read', success: 200 },
  'DELETE /users/invitations/:id': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/invitations/:id/resend': { access: 'admin', keys: 'full', success: 204 },
  'DELETE /users/me': { access: 'user', keys: 'full', success: 204 },
  'DELETE /users/:user_id': { access: 'admin', keys: 'full', success: 204 },

  'GET /users/me/data': { access: 'user', keys: 'read', success: 200 },
  'PATCH /users/me/data': { access: 'user', keys: 'full', success: 200 },
  'GET /users/:user_id/data': { access: 'admin', keys: 'read', success: 200 },
  'PATCH /users/:user_id/data': { access: 'admin', keys: 'full', success: 200 },

  'GET /users/me/plan': { access: 'user', keys: 'read', success: 200 },
  'GET /users/:user_id/plan': { access: 'admin', keys: 'read', success: 200 },
  'PUT /users/:user_id/plan': { access: 'admin', keys: 'full', success: 200 },
  'GET /users/me/usage': { access: 'user', keys: 'read', success: 200 },
  'GET /users/:user_id/usage': { access: 'admin', keys: 'read', success: 200 },
  'GET /users/keys/:key_id/usage': { access: 'user', keys: 'read', success: 200 },
  'GET /users/keys/by-user/:user_id/:key_id/usage': { access: 'admin', keys: 'read', success: 200 },

  'GET /users/me/sessions': { access: 'user', keys: 'read', success: 200 },
  'DELETE /users/me/sessions': { access: 'user', keys: 'full', success: 204 },
  'DELETE /users/me/sessions/:session_id': { access: 'user', keys: 'full', success: 204 },
  'GET /users/:user_id/sessions': { access: 'admin', keys: 'read', success: 200 },
  'DELETE /users/:user_id/sessions': { access: 'admin', keys: 'full', success: 204 },
  'DELETE /users/:user_id/sessions/:session_id': { access: 'admin', keys: 'full', success: 204 },

  'GET /users/keys': { access: 'user', keys: 'read', success: 200 },
  'POST /users/keys': { access: 'user', keys: 'full', factor: 'guards role', success: 200 },
  'GET /users/keys/:key_id': { access: 'user', keys: 'read', success: 200 },
  'PATCH /users/keys/:key_id': { access: 'user', keys: 'full', factor: 'guards role', success: 200 },
  'DELETE /users/keys/:key_id': { access: 'user', keys: 'full', success: 204 },
  'POST /users/keys/:key_id/rotate': { access: 'user', keys: 'full', factor: 'guards role', success: 200 },
  'GET /users/keys/by-user/:user_id': { access: 'admin', keys: 'read', success: 200 },
  'POST /users/keys/by-user/:user_id': { access: 'admin', keys: 'full', success: 200 },
  'PATCH /users/keys/by-user/:user_id/:key_id': { access: 'admin', keys: 'full', success: 200 },
  'DELETE /users/keys/by-user/:user_id/:key_id': { access: 'admin', keys: 'full', success: 204 },
  'DELETE /auth/key': { access: 'user', keys: 'any', factor: 'never', only: 'key', success: 204 },
  'POST /auth/leaked': { access: 'public', success: 200 },

  'GET /auth/check': { access: 'user', keys: 'identify', success: 200 },
  'POST /auth/introspect': { access: 'user', keys: 'identify', success: 200 },
  'POST /auth/token': { access: 'user', keys: 'identify', factor: 'guards role', success: 200 },
  'GET /.well-known/jwks.json': { access: 'public', success: 200 },
  'GET /audit/': { access: 'admin', keys: 'read', success: 200 },

  'POST /login/second-factor': { access: 'public', success: 200 },
  'POST /login/passkey/options': { access: 'public', success: 200 },
  'POST /login/passkey': { access: 'public', success: 200 },
  'POST /users/me/confirm': { access: 'user', keys: 'none', factor: 'never', success: 204 },
  'GET /users/me/second-factor': { access: 'user', keys: 'read', factor: 'never', success: 200 },
  'POST /users/me/second-factor/totp': { access: 'user', keys: 'none', confirmation: true, factor: 'setup', success: 201 },
  'POST /users/me/second-factor/totp/confirm': {
    access: 'user',
    keys: 'none',
    confirmation: true,
    factor: 'setup',
    success: 200,
    status: 400,
  },
  'DELETE /users/me/second-factor/totp': { access: 'user', keys: 'none', confirmation: true, factor: 'setup', success: 204, status: 400 },
  'POST /users/me/second-factor/recovery-codes': {
    access: 'user',
    keys: 'none',
    confirmation: true,
    factor: 'setup',
    success: 200,
    status: 400,
  },
  'DELETE /users/:user_id/second-factor': { access: 'admin', keys: 'full', success: 204 },
  'POST /users/me/passkeys/options': { access: 'user', keys: 'none', confirmation: true, factor: 'setup', success: 200 },
  'POST /users/me/passkeys': { access: 'user', keys: 'none', confirmation: true, factor: 'setup', success: 201, status: 400 },
  'GET /users/me/passkeys': { access: 'user', keys: 'read', factor: 'never', success: 200 },
  'PATCH /users/me/passkeys/:id': { access: 'user', keys: 'full', factor: 'setup', success: 200, status: 404 },
  'DELETE /users/me/passkeys/:id': { access: 'user', keys: 'none', confirmation: true, factor: 'setup', success: 204, status: 404 },
  'GET /users/me/providers': { access: 'user', keys: 'read', success: 200 },
  'DELETE /users/me/providers/:provider': { access: 'user', keys: 'none', confirmation: true, success: 204, status: 404 },

  'GET /heartbeat': { access: 'public', success: 200 },
  'GET /ready': { access: 'public', success: 200 },
  'GET /metrics': { access: 'public', success: 200, status: 404 },
  'GET /dev/mail': { access: 'public', success: 200, status: 404 },
  'GET /docs': { access: 'public', success: 200 },
  'GET /redoc': { access: 'public', success: 200 },
  'GET /openapi.json': { access: 'public', success: [200, 304] },
  'GET /': { access: 'public', success: 200 },
}

/** The account that a request is about, with one of its keys. */
export type Stage = { readonly service: TestApp; readonly subject: Actor; readonly keyId: string }
type Examples<Content> = Readonly<Record<string, (stage: Stage) => Content | Promise<Content>>>

const NEW_PASSWORD = 'password of the thief'

/** The body of a valid request, for each route that requires one. Where possible, it takes over the account or opens a way back in. */
export const BODIES: Examples<object> = {
  'POST /register/': () => ({ email: newEmail(), password: PASSWORD, first_name: 'Mia', last_name: 'Muster' }),
  'POST /login/': async ({ service }) => {
    const { email, password } = await member(service)
    return { email, password }
  },
  'POST /refresh/': async ({ service }) => ({ refresh: (await member(service)).refresh }),
  'POST /verify/resend/': () => ({ email: newEmail() }),
  'POST /forgot-password/': () => ({ email: newEmail() }),
  'POST /reset-password/': async ({ service }) => ({ code: await resetCode(service), new_password: PASSWORD }),
  'POST /login/email': () => ({ email: newEmail() }),
  'POST /login/email/confirm': async ({ service }) => ({ token: await signInToken(service, await member(service)) }),
  'POST /login/exchange': async ({ service }) => issuedCode(service, await member(service)),
  'PUT /users/me': () => ({ email: newEmail(), password: NEW_PASSWORD }),
  'POST /users/me/password': ({ subject }) => ({ current_password: subject.password, password: NEW_PASSWORD }),
  'POST /users/': () => ({ email: newEmail(), first_name: 'A', last_name: 'Thief', role: 'admin' }),
  'POST /users/keys/by-user/:user_id': () => ({ name: 'a way back in' }),
  'POST /users/invitations': () => ({ email: newEmail(), first_name: 'Ida', last_name: 'Invited', role: 'admin' }),
  'DELETE /users/me': ({ subject }) => ({ password: subject.password }),
  'PUT /users/:user_id': () => ({ email: newEmail(), password: NEW_PASSWORD }),
  'POST /users/:user_id/password': () => ({ password: NEW_PASSWORD }),
  'PATCH /users/me/data': () => ({ profile: { theme: 'dark' } }),
  'PUT /users/:user_id/plan': () => ({ plan: 'pro' }),
  'PATCH /users/:user_id/data': () => ({ app: { tenant: 'acme' } }),
  'POST /auth/introspect': ({ subject }) => ({ token: subject.token }),
  'POST /auth/token': () => ({ audience: 'reports' }),
  'POST /users/keys': () => ({ name: 'a way back in' }),
  'PATCH /users/keys/:key_id': () => ({ is_active: true, name: 'mine again' }),
  'POST /auth/leaked': ({ keyId }) => [{ token: keyId, type: 'key', url: 'https://example.com/', source: 'content' }],
  'PATCH /users/keys/by-user/:user_id/:key_id': () => ({ is_active: false, name: 'renamed' }),
  'POST /login/second-factor': async ({ service }) => {
    const mia = await member(service)
    const { recoveryCodes } = await turnOn(service, mia)
    return { challenge: await firstStep(service, mia), code: recoveryCodes[0] }
  },
  'POST /login/passkey': async ({ service }) => {
    const { authenticator } = await addPasskey(service, await member(service))
    return { credential: authenticator.get(await askForPasskey(service)) }
  },
  'POST /users/me/confirm': ({ subject }) => ({ password: subject.password }),
  'POST /users/me/second-factor/totp/confirm': () => ({ code: '123456' }),
  'POST /users/me/passkeys': () => ({ name: 'My phone', credential: {} }),
  'PATCH /users/me/passkeys/:id': () => ({ name: 'My phone' }),
}

/** The query of a valid request, for each route that requires one. */
const QUERIES: Examples<Record<string, string>> = {
  'GET /verify/': async ({ service }) => {
    const { id, emailVersion } = await member(service, { verified: false })
    return { code: service.services.tokens.forMail('verify', id, emailVersion) }
  },
  'GET /reset-password/': async ({ service }) => ({ code: await resetCode(service) }),
  'GET /confirm-email/': async ({ service }) => ({ code: await emailChangeCode(service, await member(service)) }),
  'GET /users/': ({ subject }) => ({ user_id: String(subject.id) }),
  'GET /users/search': () => ({ search_term: 'mia' }),
}

async function resetCode(service: TestApp): Promise<string> {
  const { id, resetVersion } = await member(service)
  return service.services.tokens.forMail('reset', id, resetVersion)
}

/** A valid request to a route, such as `GET /users/:user_id`. */
export async function exampleOf(route: string, stage: Stage): Promise<InjectOptions & { payload?: object }> {
  const [method, path = ''] = route.split(' ')
  const { service, subject, keyId } = stage
  const [payload, query] = [await BODIES[route]?.(stage), await QUERIES[route]?.(stage)]
  const ids = {
    user_id: subject.id,
    key_id: keyId,
    session_id: payloadOf(subject.token)['sid'],
    ...(path.includes('/invitations/:id') && { id: (await invitationToken(service)).id }),
  }
  // inject() knows every method of the table.
  return { method: method as 'GET', url: urlOf(path, ids), ...(payload && { payload }), ...(query && { query }) }
}

/** The URL of a path. A parameter without a value names nothing that exists. */
export function urlOf(path: string, ids: Readonly<Record<string, unknown>> = {}): string {
  return path.replace(/[:{](\w+)\}?/g, (_, name: string) => String(ids[name] ?? (name === 'user_id' ? 987_654 : randomUUID())))
}

/** The row of a route. A path of the OpenAPI document has its parameters in braces. */
export function rowOf(route: string): ApiRoute {
  const row = API_ROUTES[nameOf(route)]
  if (row === undefined) throw new Error(`${route} has no row in ${API_ROUTES_FILE}`)
  return row
}

/** The name of a route of the OpenAPI document, as the table has it. */
export function nameOf(route: string): string {
  return route.replace(/\{(\w+)\}/g, ':$1')
}

/** The routes of the table with these properties, in alphabetical order. */
export function routesWith(has: (row: ApiRoute, route: string) => boolean): string[] {
  return Object.entries(API_ROUTES)
    .filter(([route, row]) => has(row, route))
    .map(([route]) => route)
    .sort()
}
