import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admin } from '../support/app/actors.ts'
import { startApp } from '../support/app/start-app.ts'
import { type ApiDocument, operationsOf, readApiDocument } from '../support/http/openapi.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'

type Auth = 'None' | 'User' | 'Admin'

/** Section 4 of the specification: method, path, access and success statuses. */
const SPECIFIED: readonly (readonly [string, string, Auth, ...number[]])[] = [
  ['POST', '/register/', 'None', 201],
  ['POST', '/login/', 'None', 200],
  ['POST', '/refresh/', 'None', 200],
  ['GET', '/verify/', 'None', 200],
  ['POST', '/forgot-password/', 'None', 200],
  ['GET', '/reset-password/', 'None', 200, 302],
  ['POST', '/reset-password/', 'None', 200],
  ['GET', '/users/me', 'User', 200],
  ['GET', '/users/', 'Admin', 200],
  ['GET', '/users/search', 'Admin', 200],
  ['PUT', '/users/{user_id}', 'User', 200],
  ['POST', '/users/{user_id}/password', 'User', 204],
  ['POST', '/users/{user_id}/make-admin', 'Admin', 204],
  ['POST', '/users/{user_id}/ban', 'Admin', 204],
  ['POST', '/users/{user_id}/unban', 'Admin', 204],
  ['DELETE', '/users/{user_id}', 'Admin', 204],
  ['GET', '/users/keys', 'User', 200],
  ['POST', '/users/keys', 'User', 200],
  ['GET', '/users/keys/{key_id}', 'User', 200],
  ['PATCH', '/users/keys/{key_id}', 'User', 200],
  ['DELETE', '/users/keys/{key_id}', 'User', 204],
  ['GET', '/users/keys/by-user/{user_id}', 'Admin', 200],
  ['PATCH', '/users/keys/by-user/{user_id}/{key_id}', 'Admin', 200],
  ['DELETE', '/users/keys/by-user/{user_id}/{key_id}', 'Admin', 204],
  ['GET', '/heartbeat', 'None', 200],
  ['GET', '/metrics', 'None', 200],
  ['GET', '/docs', 'None', 200],
  ['GET', '/redoc', 'None', 200],
]

/** Endpoints beyond the specification. */
const ADDITIONS: typeof SPECIFIED = [
  ['POST', '/logout/', 'User', 204],
  ['POST', '/users/keys/{key_id}/rotate', 'User', 200],
  ['DELETE', '/auth/key', 'User', 204],
  ['POST', '/auth/leaked', 'None', 200],
  ['POST', '/verify/resend/', 'None', 200],
  ['GET', '/confirm-email/', 'None', 200],
  ['DELETE', '/users/me', 'User', 204],
  ['GET', '/users/me/data', 'User', 200],
  ['PATCH', '/users/me/data', 'User', 200],
  ['GET', '/users/{user_id}/data', 'Admin', 200],
  ['PATCH', '/users/{user_id}/data', 'Admin', 200],
  ['GET', '/users/me/plan', 'User', 200],
  ['GET', '/users/{user_id}/plan', 'Admin', 200],
  ['PUT', '/users/{user_id}/plan', 'Admin', 200],
  ['GET', '/users/me/usage', 'User', 200],
  ['GET', '/users/{user_id}/usage', 'Admin', 200],
  ['GET', '/users/keys/{key_id}/usage', 'User', 200],
  ['GET', '/users/keys/by-user/{user_id}/{key_id}/usage', 'Admin', 200],
  ['GET', '/users/me/sessions', 'User', 200],
  ['DELETE', '/users/me/sessions', 'User', 204],
  ['DELETE', '/users/me/sessions/{session_id}', 'User', 204],
  ['GET', '/users/{user_id}/sessions', 'Admin', 200],
  ['DELETE', '/users/{user_id}/sessions', 'Admin', 204],
  ['DELETE', '/users/{user_id}/sessions/{session_id}', 'Admin', 204],
  ['PUT', '/users/me', 'User', 200],
  ['POST', '/users/me/password', 'User', 204],
  ['POST', '/users/', 'Admin', 201],
  ['POST', '/users/{user_id}/verify', 'Admin', 204],
  ['POST', '/users/{user_id}/revoke-admin', 'Admin', 204],
  ['POST', '/users/keys/by-user/{user_id}', 'Admin', 200],
  ['POST', '/login/second-factor', 'None', 200],
  ['POST', '/login/passkey/options', 'None', 200],
  ['POST', '/login/passkey', 'None', 200],
  ['POST', '/login/email', 'None', 200],
  ['POST', '/login/email/confirm', 'None', 200],
  ['POST', '/login/exchange', 'None', 200],
  ['GET', '/login/with/{provider}', 'None', 303],
  ['GET', '/login/with/{provider}/callback', 'None', 200, 303],
  ['GET', '/users/me/providers', 'User', 200],
  ['DELETE', '/users/me/providers/{provider}', 'User', 204],
  ['POST', '/users/invitations', 'Admin', 201],
  ['GET', '/users/invitations', 'Admin', 200],
  ['DELETE', '/users/invitations/{id}', 'Admin', 204],
  ['POST', '/users/invitations/{id}/resend', 'Admin', 204],
  ['POST', '/users/me/confirm', 'User', 204],
  ['GET', '/users/me/second-factor', 'User', 200],
  ['POST', '/users/me/second-factor/totp', 'User', 201],
  ['POST', '/users/me/second-factor/totp/confirm', 'User', 200],
  ['DELETE', '/users/me/second-factor/totp', 'User', 204],
  ['POST', '/users/me/second-factor/recovery-codes', 'User', 200],
  ['DELETE', '/users/{user_id}/second-factor', 'Admin', 204],
  ['POST', '/users/me/passkeys/options', 'User', 200],
  ['POST', '/users/me/passkeys', 'User', 201],
  ['GET', '/users/me/passkeys', 'User', 200],
  ['PATCH', '/users/me/passkeys/{id}', 'User', 200],
  ['DELETE', '/users/me/passkeys/{id}', 'User', 204],
  ['GET', '/auth/check', 'User', 200],
  ['POST', '/auth/introspect', 'User', 200],
  ['POST', '/auth/token', 'User', 200],
  ['GET', '/.well-known/jwks.json', 'None', 200],
  ['GET', '/audit/', 'Admin', 200],
  ['GET', '/ready', 'None', 200],
  ['GET', '/dev/mail', 'None', 200],
  ['GET', '/', 'None', 200],
  ['GET', '/openapi.json', 'None', 200, 304],
]

function tableOf(apiDocument: ApiDocument): string[] {
  return operationsOf(apiDocument).map(({ method, path, operation }) => {
    const successes = Object.keys(operation.responses).filter((status) => Number(status) < 400)
    const isForAdmins = operation.description?.endsWith('For admins.') === true
    const auth: Auth = operation.security.length === 0 ? 'None' : isForAdmins ? 'Admin' : 'User'
    return [method, path, auth, ...successes].join(' ')
  })
}

test('the document lists every endpoint with its access and success statuses, and no other', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  const expected = [...SPECIFIED, ...ADDITIONS].map((row) => row.join(' '))
  assert.deepEqual(tableOf(apiDocument).sort(), expected.sort())
})

test('every operation has a unique id, a summary, a description and a tag', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  const tags = apiDocument.tags.map(({ name }) => name)
  const operations = operationsOf(apiDocument)
  for (const { operation } of operations) {
    assert.match(operation.operationId, /^[a-z][a-zA-Z]+$/)
    assert.match(operation.summary, /^[A-Z].*[^.]$/)
    assert.match(operation.description ?? '', /^[A-Z].*\.$/s, operation.operationId)
    assert.equal(operation.tags.length, 1)
    assert.ok(tags.includes(operation.tags[0] ?? ''))
  }
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
  assert.deepEqual([...new Set(operations.flatMap(({ operation }) => operation.tags))].sort(), [...tags].sort())
})

test('every protected operation accepts both credentials and declares 401, and 403 where access is limited', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  assert.deepEqual(
    Object.values(apiDocument.components.securitySchemes).map(({ type, scheme, name }) => [type, scheme ?? name]),
    [
      ['http', 'bearer'],
      ['apiKey', 'X-API-Key'],
    ],
  )
  for (const { operation } of operationsOf(apiDocument)) {
    if (operation.security.length === 0) continue
    assert.deepEqual(operation.security, [{ jwt: [] }, { apiKey: [] }])
    assert.ok('401' in operation.responses, operation.operationId)
    if (/For (?:the user whom|admins)/.test(operation.description ?? '')) assert.ok('403' in operation.responses, operation.operationId)
  }
})

/** They may answer with a challenge. */
const LOGINS: ReadonlySet<string> = new Set(['login', 'confirmSignInEmail'])

test('every refusal has a schema and an example', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  for (const { operation, responses } of operationsOf(apiDocument)) {
    const refused = Object.entries(responses).filter(([status]) => Number(status) >= 400)
    assert.ok('422' in operation.responses && '500' in operation.responses, operation.operationId)
    for (const [status, { description, content }] of refused) {
      const json = content?.['application/json']
      const other = LOGINS.has(operation.operationId) && status === '401' ? 'LoginRefused' : 'ErrorResponse'
      const schema = status === '422' ? 'ValidationError' : other
      assert.equal(json?.schema.$ref, `#/components/schemas/${schema}`, `${operation.operationId} ${status}`)
      assert.ok(Object.keys(json?.examples ?? {}).length > 0, `${operation.operationId} ${status}`)
      assert.notEqual(description, '')
    }
  }
})

test('every schema has a description, and every field a description and an example', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  for (const [name, { description, properties = {} }] of Object.entries(apiDocument.components.schemas)) {
    assert.ok(description, `${name} has a description`)
    for (const [field, schema] of Object.entries(properties)) {
      const place = `${name}.${field}`
      assert.ok(schema.description, `${place} has a description`)
      assert.ok(
        schema.examples ?? schema.enum ?? schema.const ?? schema.items?.$ref ?? schema.default !== undefined,
        `${place} has an example`,
      )
    }
  }
  for (const { operation } of operationsOf(apiDocument)) {
    for (const { name, description, example } of operation.parameters ?? []) {
      assert.ok(description, `${operation.operationId} ${name} has a description`)
      assert.notEqual(example, undefined)
    }
  }
})

// Which field of a confirmation is missing depends on what the client has, and an empty merge patch changes nothing.
const TAKES_NOTHING = /^(?:confirmSession|confirmSignInEmail|editOwnData|editUserData)$/

test('422: the response to an empty JSON object is the documented example, on every endpoint with a body', async (t) => {
  const service = await startApp(t, { env: { EMAIL_SIGN_IN: 'true', PLANS: 'free=60/m' } })
  const { headers } = await admin(service)
  const apiDocument = (await service.app.inject('/openapi.json')).json<ApiDocument>()
  let tried = 0
  for (const { method, path, operation, responses } of operationsOf(apiDocument)) {
    if (operation.requestBody?.required !== true || TAKES_NOTHING.test(operation.operationId)) continue
    const url = path.replace('{user_id}', '7').replace('{key_id}', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41')
    const response = await service.app.inject({ method, url, headers: { ...headers, 'content-type': 'application/json' }, payload: '{}' })
    assert.equal(response.statusCode, 422)
    assert.deepEqual(response.json(), responses['422']?.content?.['application/json']?.examples?.['missing']?.value)
    tried++
  }
  assert.equal(tried, 27)
})

test('201: the documented example of a registration is accepted', async (t) => {
  const { app } = await startApp(t)
  const apiDocument = (await app.inject('/openapi.json')).json<ApiDocument>()
  const register = operationsOf(apiDocument).find(({ operation }) => operation.operationId === 'register')
  const example = register?.operation.requestBody?.content['application/json']?.example
  const response = await app.inject({ method: 'POST', url: '/register/', payload: example as object })
  assert.equal(response.statusCode, 201)
  assert.deepEqual(Object.keys(response.json()), Object.keys(register?.responses['201']?.content?.['application/json']?.example as object))
})

test('the document contains the title, the version and the URL of the service', async (t) => {
  const { info, servers, openapi } = await readApiDocument(t, { API_TITLE: 'Acme <Accounts>', BASE_URL: 'https://acme.example.org/auth/' })
  assert.equal(openapi, '3.1.1')
  assert.deepEqual([info.title, info.license.identifier], ['Acme <Accounts>', 'MIT'])
  assert.match(info.version, /^\d+\.\d+\.\d+$/)
  assert.deepEqual(servers, [{ url: 'https://acme.example.org/auth' }])
})

test('reset-password documents JSON and both form encodings, and responses in JSON and HTML', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  const reset = operationsOf(apiDocument).find(({ operation }) => operation.operationId === 'resetPassword')
  const kinds = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data']
  assert.deepEqual(Object.keys(reset?.operation.requestBody?.content ?? {}), kinds)
  for (const status of ['200', '401', '404', '422']) {
    assert.deepEqual(Object.keys(reset?.responses[status]?.content ?? {}), ['application/json', 'text/html'])
  }
})
