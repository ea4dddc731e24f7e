import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SourceName } from '../../../src/cli/import/sources/source-names.ts'
import { createSource } from '../../../src/cli/import/sources/sources.ts'
import { createUnreadFields, describeUnread } from '../../../src/cli/import/unread-fields.ts'
import { render } from '../../../src/cli/terminal/output.ts'
import { checkUser } from '../../../src/domain/import/check-user.ts'
import type { FieldTree } from '../../../src/domain/import/imported-user.ts'
import type { JsonObject } from '../../../src/model/entity.ts'

function unreadOf(from: SourceName, ...records: readonly JsonObject[]) {
  const unread = createUnreadFields()
  const source = createSource(from, undefined)
  for (const record of records) unread.count(record, source.fieldsOf(record))
  return unread.list()
}

const descriptionsOf = (from: SourceName, ...records: readonly JsonObject[]) => unreadOf(from, ...records).map(describeUnread)

test('at most 50 names are kept, of at most 200 characters, and the users with further fields are counted together', () => {
  const users = Array.from({ length: 100 }, (_, n) => ({ [`field ${n}`]: 1, [`${'x'.repeat(1000)}${n}`]: 1, [`${n}`]: 0 }))
  const unread = unreadOf('latchkey', ...users)
  assert.deepEqual([unread.length, unread[0], unread[2]], [51, { name: '0', users: 1 }, { name: 'x'.repeat(200), users: 100 }])
  assert.deepEqual(unread.at(-1), { name: undefined, users: 76 })
  assert.equal(describeUnread({ name: undefined, users: 76 }), 'not imported: further fields (76 users)')
})

test('names cannot control the terminal, and fields without a value are not counted', () => {
  const [line = ''] = descriptionsOf('csv', { 'a\u001b[2J\n': 1 }, { 'a\u001b[2J\n': '' })
  assert.equal(render(line, { isColoured: false }), 'not imported: "a\\x1b[2J\\x0a" (1 user)')
  assert.deepEqual(descriptionsOf('csv', { a: null, b: '', c: [], d: {}, e: undefined }), [])
  assert.deepEqual(descriptionsOf('csv', { a: false, b: 0 }), ['not imported: "a" (1 user)', 'not imported: "b" (1 user)'])
})

test('entries of a list that are of another kind are named by it, such as a second factor', () => {
  const credentials = [{ type: 'password', secretData: '{}' }, { type: 'otp', secretData: '{}' }, { type: 7 }]
  assert.deepEqual(unreadOf('keycloak', { credentials }, { credentials }), [
    { name: 'credentials of type otp', users: 2 },
    { name: 'credentials of type number', users: 2 },
  ])
  const identifiers = [
    { type: 'email', value: 'ada@example.com' },
    { type: 'phone', value: '+15550100' },
  ]
  assert.deepEqual(unreadOf('auth0', { identifiers }), [{ name: 'identifiers of type phone', users: 1 }])
})

test('entries beyond the only one that is read are named, and entries that do not say their kind', () => {
  const password = { type: 'password', secretData: '{}' }
  const credentials = [password, { type: 'otp' }, password, password]
  assert.deepEqual(unreadOf('keycloak', { credentials }, { credentials: [password] }), [
    { name: 'credentials of type otp', users: 1 },
    { name: 'credentials beyond the first of type password', users: 1 },
  ])
  const identifiers = [
    { type: 'email', value: 'ada@example.com' },
    { type: 'email', value: 'second@example.com' },
  ]
  assert.deepEqual(unreadOf('auth0', { identifiers }, { identifiers: [{ value: 'ada@example.com' }] }), [
    { name: 'identifiers beyond the first of type email', users: 1 },
    { name: 'identifiers without type', users: 1 },
  ])
  const keys = [{ id: 'a' }, { id: 'b' }]
  assert.deepEqual(unreadOf('latchkey', { keys }), [])
})

test('a field that should have fields of its own is named if it has none, however deep its lists are', () => {
  let deep: unknown = []
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  assert.deepEqual(unreadOf('latchkey', { keys: deep }, { keys: 'text' }, { keys: '[{"id": "a", "nme": "x"}]' }), [
    { name: 'keys', users: 2 },
    { name: 'keys.nme', users: 1 },
  ])
  assert.deepEqual(unreadOf('supabase', { raw_user_meta_data: '"Ada"' }), [{ name: 'raw_user_meta_data', users: 1 }])
})

/** A record that notes the path of each field that is read of it. */
function watched(value: unknown, path: string, paths: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const pathOf = (name: string | symbol) => (Array.isArray(value) ? path : `${path}${path && '.'}${String(name)}`)
  return new Proxy(value, {
    get(target, name) {
      paths.add(pathOf(name))
      return watched(Reflect.get(target, name), pathOf(name), paths)
    },
    has(target, name) {
      paths.add(pathOf(name))
      return Reflect.has(target, name)
    },
  })
}

function pathsOf(fields: FieldTree, prefix = ''): string[] {
  return Object.entries(fields).flatMap(([name, field]) => [
    prefix + name,
    ...(typeof field === 'object' ? pathsOf(field, `${prefix}${name}.`) : []),
  ])
}

const KEY = {
  id: 'a',
  retiring_secrets: [{ key_hash: '0'.repeat(64), retired_at: '2026-01-31T09:30:00Z', expires_at: '2026-01-31T09:30:00Z' }],
}
const SCRYPT = { algorithm: 'scrypt', hash: { value: 'ab', encoding: 'hex' }, salt: { value: 'abc' }, password: {}, keylen: 1 }
const TOTP = { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }
const PASSKEY = { credential_id: 'a', public_key: 'b' }
const IDENTITY = { provider: 'acme', issuer: 'https://login.acme.example', subject: 'ada' }
const LATCHKEY_USER = { email: 'ada@example.com', totp: TOTP, passkeys: [PASSKEY], providers: [IDENTITY], data: {}, keys: [KEY] }

/** Users that make each source read all that it reads. */
const USERS: Readonly<Record<SourceName, readonly JsonObject[]>> = {
  latchkey: [LATCHKEY_USER],
  csv: [LATCHKEY_USER],
  supabase: [{ raw_user_meta_data: {} }, { email_confirmed_at: null }],
  auth0: [{ identifiers: [{ type: 'email' }], blocked: false, custom_password_hash: SCRYPT, mfa_factors: [{ totp: TOTP }] }],
  firebase: [{}],
  keycloak: [{ enabled: true, credentials: [{ type: 'password' }] }],
  django: [{ model: 'auth.user', pk: 1, fields: {} }],
  'better-auth': [{ banned: true }],
  'fastapi-template': [{ password: 'x' }, { hashed_password: 'x' }],
}

for (const [from, users] of Object.entries(USERS) as [SourceName, readonly JsonObject[]][])
  test(`${from} reads each field that it declares, so that none is dropped without being named`, () => {
    const source = createSource(from, undefined)
    const paths = new Set<string>()
    for (const user of users) {
      const record = watched(user, '', paths) as JsonObject
      source.isUser(record)
      const converted = source.convert(record)
      if (converted === record) checkUser(converted, 1, { withoutPasswords: false })
    }
    for (const path of users.flatMap((user) => pathsOf(source.fieldsOf(user)))) assert.ok(paths.has(path), path)
  })
