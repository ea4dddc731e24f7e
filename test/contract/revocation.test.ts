import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import type { App } from '../../src/http/pipeline/declarations.ts'
import { statement } from '../../src/storage/database.ts'
import { type Actor, admin, type KeyHolder, keyHolder, member } from '../support/app/actors.ts'
import { invitationToken } from '../support/app/mailed-links.ts'
import { secondApp, startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { payloadOf } from '../support/http/forged-tokens.ts'
import { operationsOf, readApiDocument } from '../support/http/openapi.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { login, logout, newEmail, resetPassword } from '../support/http/requests.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'
import { stall } from '../support/load/stalled-request.ts'

/** The accounts of a case: the caller, who is an admin with a key, another user with a key, and the admin who revokes. */
type Stage = {
  readonly service: TestApp
  /** The same service in another process. */
  readonly elsewhere: App
  readonly boss: Actor
  readonly caller: KeyHolder
  readonly other: KeyHolder
  /** The id of an open invitation. */
  readonly invitation: number
}

type Write = {
  readonly role: 'user' | 'admin'
  /** The only credential that can make this write; either one if it is not set. */
  readonly by?: 'session' | 'key'
  request(stage: Stage): InjectOptions & { payload?: object }
}

/** The id of the session that a token names. */
function sessionOf({ token }: Actor): string {
  return String(payloadOf(token)['sid'])
}

/** Every protected route that writes or takes a body, which may arrive long after the credential. */
const WRITES: Readonly<Record<string, Write>> = {
  'POST /logout/': { role: 'user', by: 'session', request: () => ({ url: '/logout/' }) },
  'DELETE /users/me': { role: 'user', request: ({ caller }) => ({ url: '/users/me', payload: { password: caller.password } }) },
  'PUT /users/me': {
    role: 'user',
    request: () => ({ url: '/users/me', payload: { email: newEmail(), password: 'password of the thief' } }),
  },
  'POST /users/me/password': {
    role: 'user',
    request: ({ caller }) => ({
      url: '/users/me/password',
      payload: { current_password: caller.password, password: 'password of the thief' },
    }),
  },
  'POST /users/': {
    role: 'admin',
    request: () => ({ url: '/users/', payload: { email: newEmail(), first_name: 'A', last_name: 'Thief', role: 'admin' } }),
  },
  'POST /users/{user_id}/revoke-admin': { role: 'admin', request: ({ boss }) => ({ url: `/users/${boss.id}/revoke-admin` }) },
  'POST /users/{user_id}/verify': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/verify` }) },
  'POST /users/keys/by-user/{user_id}': {
    role: 'admin',
    request: ({ other }) => ({ url: `/users/keys/by-user/${other.id}`, payload: { name: 'a way back in' } }),
  },
  'PUT /users/{user_id}': {
    role: 'user',
    request: ({ caller }) => ({ url: `/users/${caller.id}`, payload: { email: newEmail(), password: 'password of the thief' } }),
  },
  'POST /users/{user_id}/password': {
    role: 'user',
    request: ({ caller }) => ({ url: `/users/${caller.id}/password`, payload: { password: 'password of the thief' } }),
  },
  'POST /users/{user_id}/make-admin': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/make-admin` }) },
  'POST /users/{user_id}/ban': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/ban` }) },
  'POST /users/{user_id}/unban': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/unban` }) },
  'DELETE /users/{user_id}': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}` }) },
  'PATCH /users/me/data': { role: 'user', request: () => ({ url: '/users/me/data', payload: { profile: { theme: 'dark' } } }) },
  'PUT /users/{user_id}/plan': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/plan`, payload: { plan: 'pro' } }) },
  'PATCH /users/{user_id}/data': {
    role: 'admin',
    request: ({ other }) => ({ url: `/users/${other.id}/data`, payload: { app: { tenant: 'acme' } } }),
  },
  'POST /users/invitations': {
    role: 'admin',
    request: () => ({ url: '/users/invitations', payload: { email: newEmail(), first_name: 'Ida', last_name: 'Invited', role: 'admin' } }),
  },
  'DELETE /users/invitations/{id}': { role: 'admin', request: ({ invitation }) => ({ url: `/users/invitations/${invitation}` }) },
  'POST /users/invitations/{id}/resend': {
    role: 'admin',
    request: ({ invitation }) => ({ url: `/users/invitations/${invitation}/resend` }),
  },
  'DELETE /users/me/sessions': { role: 'user', request: () => ({ url: '/users/me/sessions' }) },
  'DELETE /users/me/sessions/{session_id}': {
    role: 'user',
    request: ({ caller }) => ({ url: `/users/me/sessions/${sessionOf(caller)}` }),
  },
  'DELETE /users/{user_id}/sessions': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/sessions` }) },
  'DELETE /users/{user_id}/sessions/{session_id}': {
    role: 'admin',
    request: ({ other }) => ({ url: `/users/${other.id}/sessions/${sessionOf(other)}` }),
  },
  'POST /auth/introspect': { role: 'user', request: ({ other }) => ({ url: '/auth/introspect', payload: { token: other.token } }) },
  'POST /auth/token': { role: 'user', request: () => ({ url: '/auth/token', payload: { audience: 'reports' } }) },
  'POST /users/keys': { role: 'user', request: () => ({ url: '/users/keys', payload: { name: 'a way back in' } }) },
  'PATCH /users/keys/{key_id}': {
    role: 'user',
    request: ({ caller }) => ({ url: `/users/keys/${caller.keyId}`, payload: { is_active: true, name: 'mine again' } }),
  },
  'POST /users/keys/{key_id}/rotate': {
    role: 'user',
    request: ({ caller }) => ({ url: `/users/keys/${caller.keyId}/rotate`, payload: { overlap_seconds: 3600 } }),
  },
  'DELETE /auth/key': { role: 'user', by: 'key', request: () => ({ url: '/auth/key' }) },
  'DELETE /users/keys/{key_id}': { role: 'user', request: ({ caller }) => ({ url: `/users/keys/${caller.keyId}` }) },
  'PATCH /users/keys/by-user/{user_id}/{key_id}': {
    role: 'admin',
    request: ({ other }) => ({ url: `/users/keys/by-user/${other.id}/${other.keyId}`, payload: { is_active: false } }),
  },
  'DELETE /users/keys/by-user/{user_id}/{key_id}': {
    role: 'admin',
    request: ({ other }) => ({ url: `/users/keys/by-user/${other.id}/${other.keyId}` }),
  },
  'POST /users/me/confirm': {
    role: 'user',
    by: 'session',
    request: ({ caller }) => ({ url: '/users/me/confirm', payload: { password: caller.password } }),
  },
  'POST /users/me/second-factor/totp': { role: 'user', by: 'session', request: () => ({ url: '/users/me/second-factor/totp' }) },
  'POST /users/me/second-factor/totp/confirm': {
    role: 'user',
    by: 'session',
    request: () => ({ url: '/users/me/second-factor/totp/confirm', payload: { code: '123456' } }),
  },
  'DELETE /users/me/second-factor/totp': { role: 'user', by: 'session', request: () => ({ url: '/users/me/second-factor/totp' }) },
  'POST /users/me/second-factor/recovery-codes': {
    role: 'user',
    by: 'session',
    request: () => ({ url: '/users/me/second-factor/recovery-codes' }),
  },
  'DELETE /users/{user_id}/second-factor': { role: 'admin', request: ({ other }) => ({ url: `/users/${other.id}/second-factor` }) },
  'POST /users/me/passkeys/options': { role: 'user', by: 'session', request: () => ({ url: '/users/me/passkeys/options' }) },
  'POST /users/me/passkeys': {
    role: 'user',
    by: 'session',
    request: () => ({ url: '/users/me/passkeys', payload: { name: 'a way back in', credential: {} } }),
  },
  'PATCH /users/me/passkeys/{id}': { role: 'user', request: () => ({ url: '/users/me/passkeys/none', payload: { name: 'mine' } }) },
  'DELETE /users/me/passkeys/{id}': { role: 'user', by: 'session', request: () => ({ url: '/users/me/passkeys/none' }) },
  'DELETE /users/me/providers/{provider}': { role: 'user', by: 'session', request: () => ({ url: '/users/me/providers/acme' }) },
}

type Revocation = { readonly ends: 'session' | 'key' | 'both' | 'role'; revoke(stage: Stage): Promise<unknown> }

async function acknowledged(response: Promise<{ readonly statusCode: number; readonly body: string }>): Promise<void> {
  const { statusCode, body } = await response
  assert.ok(statusCode < 300, `the revocation itself was refused: ${statusCode} ${body}`)
}

/** Every way to revoke access, through another process if there is a route for it. */
const REVOCATIONS: Readonly<Record<string, Revocation>> = {
  'a ban': {
    ends: 'both',
    revoke: ({ elsewhere, boss, caller }) =>
      acknowledged(elsewhere.inject({ method: 'POST', url: `/users/${caller.id}/ban`, headers: boss.headers })),
  },
  'a deletion': {
    ends: 'both',
    revoke: ({ elsewhere, boss, caller }) =>
      acknowledged(elsewhere.inject({ method: 'DELETE', url: `/users/${caller.id}`, headers: boss.headers })),
  },
  'a demotion': { ends: 'role', revoke: ({ service, caller }) => service.services.userAdministration.revokeAdmin(OPERATOR, caller.id) },
  'a logout': {
    ends: 'session',
    revoke: ({ elsewhere, caller }) => acknowledged(elsewhere.inject(logout({ authorization: `Bearer ${caller.token}` }))),
  },
  'a password reset': {
    ends: 'session',
    revoke: ({ elsewhere, service, caller }) =>
      acknowledged(elsewhere.inject(resetPassword({ code: service.services.tokens.forMail('reset', caller.id, caller.resetVersion) }))),
  },
  'a password change in another session': {
    ends: 'session',
    async revoke({ elsewhere, caller }) {
      const { token } = (await elsewhere.inject(login({ email: caller.email, password: caller.password }))).json()
      const headers = { authorization: `Bearer ${token}` }
      await acknowledged(
        elsewhere.inject({ method: 'POST', url: `/users/${caller.id}/password`, headers, payload: { password: 'password of the owner' } }),
      )
    },
  },
  'disabling the key': {
    ends: 'key',
    revoke: ({ elsewhere, caller }) =>
      acknowledged(
        elsewhere.inject({
          method: 'PATCH',
          url: `/users/keys/${caller.keyId}`,
          headers: { authorization: `Bearer ${caller.token}` },
          payload: { is_active: false },
        }),
      ),
  },
  'a rotation of the key': {
    ends: 'key',
    revoke: ({ elsewhere, caller }) =>
      acknowledged(
        elsewhere.inject({
          method: 'POST',
          url: `/users/keys/${caller.keyId}/rotate`,
          headers: { authorization: `Bearer ${caller.token}` },
        }),
      ),
  },
  'a revocation of the key by itself': {
    ends: 'key',
    revoke: ({ elsewhere, caller }) =>
      acknowledged(elsewhere.inject({ method: 'DELETE', url: '/auth/key', headers: { 'x-api-key': caller.key } })),
  },
  'a report of the key as leaked': {
    ends: 'key',
    revoke: ({ elsewhere, caller }) =>
      acknowledged(elsewhere.inject({ method: 'POST', url: '/auth/leaked', payload: [{ token: caller.key, type: 'key' }] })),
  },
  'deleting the key': {
    ends: 'key',
    revoke: ({ elsewhere, boss, caller }) =>
      acknowledged(elsewhere.inject({ method: 'DELETE', url: `/users/keys/by-user/${caller.id}/${caller.keyId}`, headers: boss.headers })),
  },
}

const USERS = statement<object>(
  'select id, email, first_name, password_hash, role, banned, email_version, reset_version, totp, passkeys from users where id >= $1 order by id',
)
const KEYS = statement<object>('select id, user_id, name, key_hash, is_active, expires_at from api_keys where user_id >= $1 order by id')
const SESSIONS = statement<object>('select id, user_id, confirmed_at from sessions where user_id >= $1 order by id')
const INVITATIONS = statement<object>('select id, email, version, expires_at from invitations order by id')
const TOTP_SECRETS = statement<object>('select user_id, secret from totp_secrets where user_id >= $1 order by user_id')
const DATA = statement<object>('select user_id, profile, app from user_data where user_id >= $1 order by user_id')

/** The rows of an account and of those that are newer, and all invitations. */
async function rowsSince({ db }: TestApp, { id }: Actor): Promise<object[][]> {
  return Promise.all([...[USERS, KEYS, SESSIONS, TOTP_SECRETS, DATA].map((rows) => db.all(rows, id)), db.all(INVITATIONS)])
}

function credentials({ token, key }: KeyHolder): Record<'session' | 'key', Record<string, string>> {
  return { session: { authorization: `Bearer ${token}` }, key: { 'x-api-key': key } }
}

type Case = { readonly name: string; readonly kind: 'session' | 'key'; readonly status: number; readonly revoke: Revocation['revoke'] }

/** The revocations that forbid a write, with the credential that each of them ends. */
function casesOf({ role, by }: Write): Case[] {
  const kinds = by === undefined ? (['session', 'key'] as const) : [by]
  return Object.entries(REVOCATIONS).flatMap(([name, { ends, revoke }]) => {
    if (ends === 'role') return role === 'user' ? [] : kinds.map((kind) => ({ name, kind, status: 403, revoke }))
    return kinds.filter((kind) => ends === 'both' || ends === kind).map((kind) => ({ name, kind, status: 401, revoke }))
  })
}

test('401, 403: no route changes anything after the access of its caller is revoked', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const elsewhere = await secondApp(t, service)
  const boss = await admin(service)
  const { id: invitation } = await invitationToken(service)
  for (const [route, write] of Object.entries(WRITES))
    await t.test(route, async () => {
      // inject() knows every method of the table.
      const method = route.split(' ')[0] as 'POST'
      for (const { name, kind, status, revoke } of casesOf(write)) {
        const caller = await keyHolder(service, await admin(service))
        const other = await keyHolder(service, await member(service))
        const stage = { service, elsewhere, boss, caller, other, invitation }
        const stalled = stall(service.app, { method, headers: credentials(caller)[kind], ...write.request(stage) })
        await stalled.accepted
        await revoke(stage)
        const before = await rowsSince(service, caller)
        const { statusCode, body } = await stalled.finish()
        const place = `${name}, by ${kind}: ${statusCode} ${body}`
        assert.equal(statusCode, status, place)
        assert.deepEqual(await rowsSince(service, caller), before, place)
      }
    })
})

test('the table has every protected route that writes', async (t) => {
  const writes = operationsOf(await readApiDocument(t, EVERY_ROUTE)).filter(
    ({ method, operation }) => method !== 'GET' && operation.security.length > 0,
  )
  assert.deepEqual(Object.keys(WRITES).sort(), writes.map(({ method, path }) => `${method} ${path}`).sort())
})

test('204: a stalled request succeeds if the access of its caller is not revoked', async (t) => {
  const service = await startApp(t)
  const caller = await keyHolder(service, await admin(service))
  const other = await keyHolder(service, await member(service))
  for (const headers of Object.values(credentials(caller))) {
    const stalled = stall(service.app, { method: 'POST', url: `/users/${other.id}/make-admin`, headers })
    await stalled.accepted
    assert.equal((await stalled.finish()).statusCode, 204)
  }
})
