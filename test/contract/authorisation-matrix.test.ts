import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { type Actor, admin, emailChangeCode, keyHolder, member } from '../support/app/actors.ts'
import { refused } from '../support/app/assertions.ts'
import { issuedCode } from '../support/app/hand-off.ts'
import { invitationToken, signInToken } from '../support/app/mailed-links.ts'
import { addPasskey, askForPasskey, firstStep, turnOn } from '../support/app/second-factor.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { forge, payloadOf } from '../support/http/forged-tokens.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { EVERY_ROUTE, routesDuring } from '../support/http/routes.ts'

/**
 * Every endpoint, and its status for each caller. After a change, the next cell has new accounts. The request is about the caller's own account, except
 * for the callers `nothing`, `garbage`, `another` and both admins, where it is about the account of another user. An invalid credential
 * is a real one that is expired, of the wrong type, or of an account that is unverified or banned.
 */
const MATRIX = `
                                                | nothing garbage expired refresh unverified banned | user another admin | user's key, admin's key
POST   /register/                               |   201     201     201     201      201      201   | 201    201    201  |    201        201
POST   /login/                                  |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /refresh/                                |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /verify/                                 |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /verify/resend/                          |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /forgot-password/                        |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /reset-password/                         |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /reset-password/                         |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /confirm-email/                          |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /login/email                             |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /login/email/confirm                     |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /login/exchange                          |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /login/with/:provider                    |   404     404     404     404      404      404   | 404    404    404  |    404        404
GET    /login/with/:provider/callback           |   404     404     404     404      404      404   | 404    404    404  |    404        404
POST   /logout/                                 |   401     401     401     401      401      401   | 204    204    204  |    400        400

GET    /users/me                                |   401     401     401     401      401      401   | 200    200    200  |    200        200
PUT    /users/me                                |   401     401     401     401      401      401   | 200    200    200  |    200        200
POST   /users/me/password                       |   401     401     401     401      401      401   | 204    204    204  |    204        204
GET    /users/                                  |   401     401     401     401      401      401   | 403    403    200  |    403        200
POST   /users/                                  |   401     401     401     401      401      401   | 403    403    201  |    403        201
GET    /users/search                            |   401     401     401     401      401      401   | 403    403    200  |    403        200
PUT    /users/:user_id                          |   401     401     401     401      401      401   | 200    403    200  |    200        200
POST   /users/:user_id/password                 |   401     401     401     401      401      401   | 204    403    204  |    204        204
POST   /users/:user_id/make-admin               |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/:user_id/revoke-admin             |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/:user_id/verify                   |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/:user_id/ban                      |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/:user_id/unban                    |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/invitations                       |   401     401     401     401      401      401   | 403    403    201  |    403        201
GET    /users/invitations                       |   401     401     401     401      401      401   | 403    403    200  |    403        200
DELETE /users/invitations/:id                   |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/invitations/:id/resend            |   401     401     401     401      401      401   | 403    403    204  |    403        204
DELETE /users/me                                |   401     401     401     401      401      401   | 204    204    204  |    204        204
DELETE /users/:user_id                          |   401     401     401     401      401      401   | 403    403    204  |    403        204

GET    /users/me/data                           |   401     401     401     401      401      401   | 200    200    200  |    200        200
PATCH  /users/me/data                           |   401     401     401     401      401      401   | 200    200    200  |    200        200
GET    /users/:user_id/data                     |   401     401     401     401      401      401   | 403    403    200  |    403        200
PATCH  /users/:user_id/data                     |   401     401     401     401      401      401   | 403    403    200  |    403        200

GET    /users/me/plan                           |   401     401     401     401      401      401   | 200    200    200  |    200        200
GET    /users/:user_id/plan                     |   401     401     401     401      401      401   | 403    403    200  |    403        200
PUT    /users/:user_id/plan                     |   401     401     401     401      401      401   | 403    403    200  |    403        200
GET    /users/me/usage                          |   401     401     401     401      401      401   | 200    200    200  |    200        200
GET    /users/:user_id/usage                    |   401     401     401     401      401      401   | 403    403    200  |    403        200
GET    /users/keys/:key_id/usage                |   401     401     401     401      401      401   | 200    404    404  |    200        404
GET    /users/keys/by-user/:user_id/:key_id/usage|   401     401     401     401      401      401   | 403    403    200  |    403        200

GET    /users/me/sessions                       |   401     401     401     401      401      401   | 200    200    200  |    200        200
DELETE /users/me/sessions                       |   401     401     401     401      401      401   | 204    204    204  |    204        204
DELETE /users/me/sessions/:session_id           |   401     401     401     401      401      401   | 204    404    404  |    204        404
GET    /users/:user_id/sessions                 |   401     401     401     401      401      401   | 403    403    200  |    403        200
DELETE /users/:user_id/sessions                 |   401     401     401     401      401      401   | 403    403    204  |    403        204
DELETE /users/:user_id/sessions/:session_id     |   401     401     401     401      401      401   | 403    403    204  |    403        204

GET    /users/keys                              |   401     401     401     401      401      401   | 200    200    200  |    200        200
POST   /users/keys                              |   401     401     401     401      401      401   | 200    200    200  |    200        200
GET    /users/keys/:key_id                      |   401     401     401     401      401      401   | 200    404    404  |    200        404
PATCH  /users/keys/:key_id                      |   401     401     401     401      401      401   | 200    404    404  |    200        404
DELETE /users/keys/:key_id                      |   401     401     401     401      401      401   | 204    404    404  |    204        404
POST   /users/keys/:key_id/rotate               |   401     401     401     401      401      401   | 200    404    404  |    200        404
GET    /users/keys/by-user/:user_id             |   401     401     401     401      401      401   | 403    403    200  |    403        200
POST   /users/keys/by-user/:user_id             |   401     401     401     401      401      401   | 403    403    200  |    403        200
PATCH  /users/keys/by-user/:user_id/:key_id     |   401     401     401     401      401      401   | 403    403    200  |    403        200
DELETE /users/keys/by-user/:user_id/:key_id     |   401     401     401     401      401      401   | 403    403    204  |    403        204
DELETE /auth/key                                |   401     401     401     401      401      401   | 400    400    400  |    204        204
POST   /auth/leaked                             |   200     200     200     200      200      200   | 200    200    200  |    200        200

GET    /auth/check                              |   401     401     401     401      401      401   | 200    200    200  |    200        200
POST   /auth/introspect                         |   401     401     401     401      401      401   | 200    200    200  |    200        200
POST   /auth/token                              |   401     401     401     401      401      401   | 200    200    200  |    200        200
GET    /.well-known/jwks.json                   |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /audit/                                  |   401     401     401     401      401      401   | 403    403    200  |    403        200

POST   /login/second-factor                     |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /login/passkey/options                   |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /login/passkey                           |   200     200     200     200      200      200   | 200    200    200  |    200        200
POST   /users/me/confirm                        |   401     401     401     401      401      401   | 204    204    204  |    403        403
GET    /users/me/second-factor                  |   401     401     401     401      401      401   | 200    200    200  |    200        200
POST   /users/me/second-factor/totp             |   401     401     401     401      401      401   | 201    201    201  |    403        403
POST   /users/me/second-factor/totp/confirm     |   401     401     401     401      401      401   | 400    400    400  |    403        403
DELETE /users/me/second-factor/totp             |   401     401     401     401      401      401   | 400    400    400  |    403        403
POST   /users/me/second-factor/recovery-codes   |   401     401     401     401      401      401   | 400    400    400  |    403        403
DELETE /users/:user_id/second-factor            |   401     401     401     401      401      401   | 403    403    204  |    403        204
POST   /users/me/passkeys/options               |   401     401     401     401      401      401   | 200    200    200  |    403        403
POST   /users/me/passkeys                       |   401     401     401     401      401      401   | 400    400    400  |    403        403
GET    /users/me/passkeys                       |   401     401     401     401      401      401   | 200    200    200  |    200        200
PATCH  /users/me/passkeys/:id                   |   401     401     401     401      401      401   | 404    404    404  |    404        404
DELETE /users/me/passkeys/:id                   |   401     401     401     401      401      401   | 404    404    404  |    403        403
GET    /users/me/providers                      |   401     401     401     401      401      401   | 200    200    200  |    200        200
DELETE /users/me/providers/:provider            |   401     401     401     401      401      401   | 404    404    404  |    403        403

GET    /heartbeat                               |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /ready                                   |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /metrics                                 |   404     404     404     404      404      404   | 404    404    404  |    404        404
GET    /dev/mail                                |   404     404     404     404      404      404   | 404    404    404  |    404        404
GET    /docs                                    |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /redoc                                   |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /openapi.json                            |   200     200     200     200      200      200   | 200    200    200  |    200        200
GET    /                                        |   200     200     200     200      200      200   | 200    200    200  |    200        200
`

/** The callers in the order of the columns. */
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

type Row = { readonly endpoint: string; readonly statuses: readonly number[] }

function readMatrix(): Row[] {
  return MATRIX.split('\n')
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => {
      const [endpoint = '', ...cells] = line.split('|')
      return { endpoint: endpoint.trim().replace(/ +/, ' '), statuses: cells.join(' ').trim().split(/\s+/).map(Number) }
    })
}

/** The account that a request is about, with one of its keys. */
type Stage = { readonly service: TestApp; readonly subject: Actor; readonly keyId: string }

/** The query or body of a valid request, for each endpoint that needs one. */
const CONTENT: Readonly<Record<string, (stage: Stage) => Promise<InjectOptions>>> = {
  'POST /register/': async () => ({ payload: { email: newEmail(), password: PASSWORD, first_name: 'Mia', last_name: 'Muster' } }),
  'POST /login/': async ({ service }) => {
    const { email, password } = await member(service)
    return { payload: { email, password } }
  },
  'POST /refresh/': async ({ service }) => ({ payload: { refresh: (await member(service)).refresh } }),
  'GET /verify/': async ({ service }) => {
    const { id, emailVersion } = await member(service, { verified: false })
    return { query: { code: service.services.tokens.forMail('verify', id, emailVersion) } }
  },
  'POST /verify/resend/': async () => ({ payload: { email: newEmail() } }),
  'POST /forgot-password/': async () => ({ payload: { email: newEmail() } }),
  'GET /reset-password/': async ({ service }) => ({ query: { code: await resetCode(service) } }),
  'POST /reset-password/': async ({ service }) => ({ payload: { code: await resetCode(service), new_password: PASSWORD } }),
  'GET /confirm-email/': async ({ service }) => ({ query: { code: await emailChangeCode(service, await member(service)) } }),
  'PUT /users/me': async () => ({ payload: { first_name: 'Maria' } }),
  // Every account of the matrix has this password.
  'POST /users/me/password': async () => ({ payload: { current_password: PASSWORD, password: 'a new password' } }),
  'POST /users/': async () => ({ payload: { email: newEmail(), first_name: 'Mia', last_name: 'Muster' } }),
  'POST /users/keys/by-user/:user_id': async () => ({ payload: { name: 'another key' } }),
  'POST /login/email': async () => ({ payload: { email: newEmail() } }),
  'POST /login/email/confirm': async ({ service }) => ({ payload: { token: await signInToken(service, await member(service)) } }),
  'POST /login/exchange': async ({ service }) => ({ payload: await issuedCode(service, await member(service)) }),
  'POST /users/invitations': async () => ({ payload: { email: newEmail(), first_name: 'Ida', last_name: 'Invited' } }),
  'GET /users/': async ({ subject }) => ({ query: { user_id: String(subject.id) } }),
  'GET /users/search': async () => ({ query: { search_term: 'mia' } }),
  'DELETE /users/me': async ({ subject }) => ({ payload: { password: subject.password } }),
  'PUT /users/:user_id': async () => ({ payload: { first_name: 'Maria' } }),
  'POST /users/:user_id/password': async () => ({ payload: { password: 'a new password' } }),
  'PATCH /users/me/data': async () => ({ payload: { profile: { theme: 'dark' } } }),
  'PUT /users/:user_id/plan': async () => ({ payload: { plan: 'pro' } }),
  'PATCH /users/:user_id/data': async () => ({ payload: { app: { tenant: 'acme' } } }),
  'POST /auth/introspect': async ({ subject }) => ({ payload: { token: subject.token } }),
  'POST /auth/token': async () => ({ payload: { audience: 'reports' } }),
  'POST /users/keys': async () => ({ payload: { name: 'another key' } }),
  'PATCH /users/keys/:key_id': async () => ({ payload: { name: 'renamed' } }),
  'POST /auth/leaked': async ({ keyId }) => ({ payload: [{ token: keyId, type: 'key', url: 'https://example.com/', source: 'content' }] }),
  'PATCH /users/keys/by-user/:user_id/:key_id': async () => ({ payload: { name: 'renamed' } }),
  'POST /login/second-factor': async ({ service }) => {
    const mia = await member(service)
    const { recoveryCodes } = await turnOn(service, mia)
    return { payload: { challenge: await firstStep(service, mia), code: recoveryCodes[0] } }
  },
  'POST /login/passkey': async ({ service }) => {
    const { authenticator } = await addPasskey(service, await member(service))
    return { payload: { credential: authenticator.get(await askForPasskey(service)) } }
  },
  'POST /users/me/confirm': async ({ subject }) => ({ payload: { password: subject.password } }),
  'POST /users/me/second-factor/totp/confirm': async () => ({ payload: { code: '123456' } }),
  'POST /users/me/passkeys': async () => ({ payload: { name: 'My phone', credential: {} } }),
  'PATCH /users/me/passkeys/:id': async () => ({ payload: { name: 'My phone' } }),
}

async function resetCode(service: TestApp): Promise<string> {
  const { id, resetVersion } = await member(service)
  return service.services.tokens.forMail('reset', id, resetVersion)
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
  const [method = '', path = ''] = endpoint.split(' ')
  const setup = unchanged.get(caller) ?? (await newAccounts(service, caller))
  const { subject, headers, keyId } = setup
  const content = (await CONTENT[endpoint]?.({ service, subject, keyId })) ?? {}
  const invitationId = path.includes('invitations/:id') ? (await invitationToken(service)).id : 0
  const url = path
    .replace(':user_id', String(subject.id))
    .replace(':key_id', keyId)
    .replace(':session_id', String(payloadOf(subject.token)['sid']))
    .replace(/(?<=invitations\/):id/, String(invitationId))
  const response = await service.app.inject({ method: method as 'GET', url, headers, ...content })
  if (method === 'GET' || response.statusCode >= 400) unchanged.set(caller, setup)
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
  async function compare(endpoint: string, caller: CallerName, expected: number | undefined): Promise<void> {
    const response = await call(service, unchanged, endpoint, caller)
    if (response.statusCode !== expected) differences.push(`${endpoint} for ${caller}: ${response.statusCode}, not ${expected}`)
    else if (expected === 401) refused(response, 401, UNAUTHENTICATED[caller] ?? 'That token is Invalid')
    else if (expected === 403) refused(response, 403, 'Not enough permissions')
  }

  for (const { endpoint, statuses } of readMatrix()) {
    assert.equal(statuses.length, CALLERS.length, `${endpoint} has a cell too many or too few`)
    for (const [column, caller] of CALLERS.entries()) await compare(endpoint, caller, statuses[column])
  }
  assert.deepEqual(differences, [])
})

test('the matrix has every endpoint and no other', async (t) => {
  const { routes } = await routesDuring(() => startApp(t, { env: EVERY_ROUTE }))
  const rows = new Set(readMatrix().map(({ endpoint }) => endpoint))
  const endpoints = [...routes].filter((route) => !route.startsWith('HEAD ') && !EXPLORER_FILE.test(route) && !PAGE.test(route))
  assert.deepEqual(
    endpoints.filter((endpoint) => !rows.has(endpoint)),
    [],
  )
  assert.deepEqual(
    [...rows].filter((row) => !routes.has(row)),
    [],
  )
})
