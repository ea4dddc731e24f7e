import { check, choice, mailCheck, mailChoice } from '../../check.ts'
import type { Context } from '../../context.ts'
import {
  expectEqual,
  expectFields,
  expectInvalid,
  expectNoSecrets,
  expectNoSuchPath,
  expectRefused,
  expectStatus,
  expectThat,
  jsonArray,
  jsonObject,
  KEY_VIEW,
} from '../../expect.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const UTC_TIMESTAMP = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]00:?00)?$/

/** What may not be in a view after the creation. */
const withoutKey = (key: string) => ({ names: ['key'], values: [key] })

async function create(context: Context, json: unknown): ReturnType<Context['call']> {
  return context.call('POST', '/users/keys', { as: await context.shared.member(), json })
}

export const KEYS_CHECKS = [
  mailCheck('keys.create', '4.4', 'a key is created with 200, not 201', async (context) => {
    expectStatus(await create(context, { name: 'created', scopes: [] }), 200)
  }),
  mailCheck(
    'keys.create-view',
    '2.2',
    'the answer is the key view and the key: id, name, created_at, is_active, scopes, key',
    async (context) => {
      const answer = await create(context, { name: 'viewed', scopes: ['a:read', 'b:write'] })
      const view = expectFields(jsonObject(answer, answer.status), { ...KEY_VIEW, key: 'string' }, answer)
      expectEqual(
        'name, is_active and scopes',
        [view['name'], view['is_active'], view['scopes']],
        ['viewed', true, ['a:read', 'b:write']],
        answer,
      )
    },
  ),
  mailCheck('keys.id', '2.2', 'the id is a UUID', async ({ shared }) => {
    const { id } = await shared.key()
    expectThat(UUID.test(id), 'a UUID', id)
  }),
  mailCheck('keys.created-at', '2.2', 'created_at is an ISO 8601 timestamp in UTC, of now', async (context) => {
    const answer = await create(context, { name: 'dated', scopes: [] })
    const createdAt = String(jsonObject(answer, answer.status)['created_at'])
    expectThat(UTC_TIMESTAMP.test(createdAt), 'an ISO 8601 timestamp in UTC', createdAt, answer)
    const now = Date.parse(answer.headers.get('date') ?? '') || Date.now()
    const at = Date.parse(/[Z+-]/.test(createdAt.slice(10)) ? createdAt : `${createdAt}Z`)
    expectThat(Math.abs(now - at) < 60 * 60 * 1000, 'the time of the request', createdAt, answer)
  }),
  mailCheck('keys.works', '5', 'the key opens a protected endpoint', async ({ call, shared }) => {
    expectStatus(await call('GET', '/users/me', { as: { key: (await shared.key()).key } }), 200)
  }),
  mailCheck('keys.several', '2.2', 'a user may own several keys, each with its own id and value', async ({ call, createKey, shared }) => {
    const member = await shared.member()
    const [one, other] = [await createKey(member, 'one'), await createKey(member, 'one')]
    expectThat(one.id !== other.id && one.key !== other.key, 'two different keys', 'the same')
    for (const { key } of [one, other]) expectStatus(await call('GET', '/users/me', { as: { key } }), 200)
  }),
  mailCheck('keys.name-missing', '7', 'no name is answered with 422', async (context) => {
    expectInvalid(await create(context, { scopes: [] }))
  }),
  mailCheck('keys.name-null', '7', 'null as name is answered with 422', async (context) => {
    expectInvalid(await create(context, { name: null, scopes: [] }))
  }),
  mailCheck('keys.scopes-text', '7', 'a text as scopes is answered with 422', async (context) => {
    expectInvalid(await create(context, { name: 'scoped', scopes: 'a b' }))
  }),
  mailCheck('keys.scopes-objects', '7', 'scopes that are no strings are answered with 422', async (context) => {
    expectInvalid(await create(context, { name: 'scoped', scopes: [{ scope: 'a' }] }))
  }),
  mailCheck('keys.list', '4.4', 'the list is an array of key views of the caller', async ({ call, createKey, member }) => {
    const owner = await member()
    const ids = [(await createKey(owner, 'first')).id, (await createKey(owner, 'second')).id]
    const answer = await call('GET', '/users/keys', { as: owner })
    const views = jsonArray(answer, 200)
    for (const view of views) expectFields(view, KEY_VIEW, answer)
    expectEqual('the ids', views.map(({ id }) => id).sort(), ids.sort(), answer)
  }),
  mailCheck('keys.list-empty', '4.4', 'a user without keys has an empty list', async ({ call, member }) => {
    expectEqual('the list', jsonArray(await call('GET', '/users/keys', { as: await member() }), 200), [])
  }),
  mailCheck('keys.list-own', '4.4', 'the list contains no keys of others', async ({ call, shared }) => {
    const { id } = await shared.key()
    const answer = await call('GET', '/users/keys', { as: await shared.other() })
    expectThat(!jsonArray(answer, 200).some((view) => view['id'] === id), 'own keys only', "another user's key", answer)
  }),
  mailCheck('keys.list-no-key', '2.2', 'the list never shows a key or its hash', async ({ call, shared }) => {
    const { key } = await shared.key()
    expectNoSecrets(await call('GET', '/users/keys', { as: await shared.member() }), withoutKey(key))
  }),
  mailCheck('keys.slash', '4', 'the list is found with a trailing slash, too', async ({ call, shared }) => {
    expectStatus(await call('GET', '/users/keys/', { as: await shared.member() }), 200, 307, 308)
  }),
  mailCheck('keys.get', '4.4', 'a key is returned as the list shows it', async ({ call, shared }) => {
    const { id } = await shared.key()
    const owner = await shared.member()
    const answer = await call('GET', `/users/keys/${id}`, { as: owner })
    const view = expectFields(jsonObject(answer, 200), KEY_VIEW, answer)
    const listed = jsonArray(await call('GET', '/users/keys', { as: owner }), 200).find((candidate) => candidate['id'] === id)
    for (const name of Object.keys(KEY_VIEW)) expectEqual(name, view[name], listed?.[name], answer)
  }),
  mailCheck('keys.get-same', '2.2', 'a key has the values of its creation', async ({ call, createKey, shared }) => {
    const owner = await shared.member()
    const { id, view } = await createKey(owner, 'same', ['x'])
    const answer = await call('GET', `/users/keys/${id}`, { as: owner })
    const received = jsonObject(answer, 200)
    for (const name of Object.keys(KEY_VIEW)) expectEqual(name, received[name], view[name], answer)
  }),
  mailCheck('keys.get-no-key', '2.2', 'a key view never shows the key or its hash', async ({ call, shared }) => {
    const { id, key } = await shared.key()
    expectNoSecrets(await call('GET', `/users/keys/${id}`, { as: await shared.member() }), withoutKey(key))
  }),
  mailCheck('keys.get-other', '4.4', "another user's key is refused", async ({ call, shared }) => {
    expectRefused(await call('GET', `/users/keys/${(await shared.key()).id}`, { as: await shared.other() }))
  }),
  check('keys.get-unknown', '4.4', 'an unknown key is refused', async ({ call, operator }) => {
    expectRefused(await call('GET', `/users/keys/${crypto.randomUUID()}`, { as: operator }))
  }),
  check('keys.get-no-uuid', '4.4', 'a key_id that is no UUID is refused with 422 or 404', async ({ call, operator }) => {
    expectNoSuchPath(await call('GET', '/users/keys/abc', { as: operator }))
  }),
  choice('keys.get-unknown-404', '7', 'an unknown key is answered with 404', async ({ call, operator }) => {
    expectStatus(await call('GET', `/users/keys/${crypto.randomUUID()}`, { as: operator }), 404)
  }),
  mailChoice('keys.scopes-optional', '4.4', 'scopes may be left out, and are empty then', async (context) => {
    const answer = await create(context, { name: 'without scopes' })
    expectEqual('scopes', jsonObject(answer, 200)['scopes'], [], answer)
  }),
  mailChoice('keys.name-empty', '4.4', 'an empty name is answered with 422', async (context) => {
    expectInvalid(await create(context, { name: '', scopes: [] }))
  }),
]
