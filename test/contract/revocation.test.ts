import assert from 'node:assert/strict'
import type { App } from '../../src/http/pipeline/declarations.ts'
import { statement } from '../../src/storage/database.ts'
import { type Actor, admin, type KeyHolder, keyHolder, member } from '../support/app/actors.ts'
import { secondApp, startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { API_ROUTES_FILE, type ApiRoute, exampleOf, nameOf, routesWith, rowOf } from '../support/http/api-routes.ts'
import { operationsOf, readApiDocument } from '../support/http/openapi.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { login, logout, resetPassword } from '../support/http/requests.ts'
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
}

/** Every protected route that writes or takes a body, which may arrive long after the credential. */
const WRITES = routesWith(({ access }, route) => access !== 'public' && !route.startsWith('GET '))

/** The account that the request of a route is about. */
function subjectOf(route: string, { boss, caller, other }: Stage): Actor {
  // The demotion of a user would change nothing.
  if (route.endsWith('/revoke-admin')) return boss
  return rowOf(route).access === 'admin' ? other : caller
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
function casesOf({ access, keys, only = keys === 'none' ? 'session' : undefined }: ApiRoute): Case[] {
  const kinds = only === undefined ? (['session', 'key'] as const) : [only]
  return Object.entries(REVOCATIONS).flatMap(([name, { ends, revoke }]) => {
    if (ends === 'role') return access !== 'admin' ? [] : kinds.map((kind) => ({ name, kind, status: 403, revoke }))
    return kinds.filter((kind) => ends === 'both' || ends === kind).map((kind) => ({ name, kind, status: 401, revoke }))
  })
}

test('401, 403: no route changes anything after the access of its caller is revoked', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const elsewhere = await secondApp(t, service)
  const boss = await admin(service)
  for (const route of WRITES)
    await t.test(route, async () => {
      // Nothing may change this account, so that every case is about the same one.
      const other = await keyHolder(service, await member(service))
      for (const { name, kind, status, revoke } of casesOf(rowOf(route))) {
        const caller = await keyHolder(service, await admin(service))
        const stage = { service, elsewhere, boss, caller, other }
        const subject = subjectOf(route, stage)
        const request = await exampleOf(route, { service, subject, keyId: subject === caller ? caller.keyId : other.keyId })
        const stalled = stall(service.app, { ...request, headers: credentials(caller)[kind] })
        await stalled.accepted
        await revoke(stage)
        const before = await rowsSince(service, other)
        const { statusCode, body } = await stalled.finish()
        const place = `${name}, by ${kind}: ${statusCode} ${body}`
        assert.equal(statusCode, status, place)
        assert.deepEqual(await rowsSince(service, other), before, place)
      }
    })
})

test('the table has every protected route that writes', async (t) => {
  const writes = operationsOf(await readApiDocument(t, EVERY_ROUTE)).filter(
    ({ method, operation }) => method !== 'GET' && operation.security.length > 0,
  )
  assert.deepEqual(WRITES, writes.map(({ method, path }) => nameOf(`${method} ${path}`)).sort(), `compared with ${API_ROUTES_FILE}`)
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
