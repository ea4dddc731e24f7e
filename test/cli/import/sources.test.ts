import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fromTimestamp, isInFuture } from '../../../src/cli/import/sources/source.ts'
import type { SourceName } from '../../../src/cli/import/sources/source-names.ts'
import { createSource } from '../../../src/cli/import/sources/sources.ts'
import { checkUser } from '../../../src/domain/import/check-user.ts'
import { checkTime } from '../../../src/domain/import/field-checks.ts'
import { Rejected } from '../../../src/domain/import/imported-user.ts'
import type { JsonObject } from '../../../src/model/entity.ts'
import { servicesOn } from '../../support/app/accounts.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'
import { PASSWORD } from '../../support/http/requests.ts'
import { type CommandLine, commandLine, json } from '../../support/processes/command-line.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/import/${name}`, import.meta.url))
const ADA = { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', role: 'user', banned: false, verified: true }
const BOB = { email: 'bob@example.com', first_name: 'Bob', last_name: '-', role: 'user', banned: true, verified: false }

type Case = {
  readonly args: readonly string[]
  readonly counts: string
  /** The fields that are named because nothing of them is imported, with the number of users that have them. */
  readonly notImported?: Readonly<Record<string, number>>
  readonly rejections?: readonly string[]
  readonly users: readonly object[]
  /** The accounts that can log in, with their passwords. */
  readonly logins: Readonly<Record<string, string>>
}

const HASHES_OF_AUTH0 = ['bcrypt', 'argon2', 'pbkdf2', 'defaults', 'scrypt', 'base64'].map((name) => `${name}@example.com`)
const CHECK = { withoutPasswords: false }
const WITHOUT = '; --without-passwords imports the user for a reset by mail'

const CASES: Readonly<Record<string, Case>> = {
  'supabase, CSV': {
    args: ['--from', 'supabase', fixture('supabase.csv')],
    // The last one has the address of the first one: accounts of single sign-on may.
    counts: 'read 6 = created 3 + updated 0 + skipped 1 + rejected 2',
    notImported: {
      instance_id: 6,
      id: 6,
      aud: 6,
      role: 6,
      confirmation_sent_at: 2,
      raw_app_meta_data: 6,
      'raw_user_meta_data.email_verified': 2,
      updated_at: 6,
      email_change_confirm_status: 6,
      is_sso_user: 6,
      is_anonymous: 6,
      confirmation_token: 1,
      phone: 1,
      phone_confirmed_at: 1,
      'raw_user_meta_data.iss': 1,
      'raw_user_meta_data.sub': 1,
      'raw_user_meta_data.email': 1,
      'raw_user_meta_data.phone_verified': 1,
    },
    rejections: ['line 5: email: is missing', 'line 6: the account is marked as deleted'],
    users: [
      { ...ADA, last_name: 'King Lovelace' },
      { ...BOB, first_name: '-' },
      // Only the phone number was confirmed, and the ban ended before 1970.
      { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: 'Can', verified: false },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'supabase, JSON': {
    args: ['--from', 'supabase', fixture('supabase.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: {
      instance_id: 2,
      id: 2,
      aud: 2,
      role: 2,
      confirmation_sent_at: 2,
      raw_app_meta_data: 2,
      'raw_user_meta_data.email_verified': 1,
      updated_at: 2,
      email_change_confirm_status: 2,
      is_sso_user: 2,
      is_anonymous: 2,
      confirmation_token: 1,
    },
    users: [
      { ...ADA, last_name: 'King Lovelace' },
      { ...BOB, first_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'auth0, users': {
    args: ['--from', 'auth0', fixture('auth0-users.ndjson')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { user_id: 2, nickname: 2, updated_at: 2, identities: 1 },
    users: [ADA, { ...BOB, first_name: '-' }],
    logins: {},
  },
  'auth0, hashes': {
    args: ['--from', 'auth0', fixture('auth0-hashes.ndjson')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { _id: 2, password_set_date: 2, tenant: 2, connection: 2, _tmp_is_unique: 2 },
    users: [
      { ...ADA, first_name: '-', last_name: '-' },
      { ...BOB, first_name: '-', banned: false },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'auth0, bulk import': {
    args: ['--from', 'auth0', fixture('auth0-bulk.json')],
    counts: 'read 14 = created 8 + updated 0 + skipped 0 + rejected 6',
    notImported: {
      user_id: 1,
      app_metadata: 1,
      'custom_password_hash.salt.position': 2,
      'custom_password_hash.hash.digest': 1,
      'custom_password_hash.hash.key': 1,
    },
    rejections: [
      `line 9: password_hash: md5 is too weak to take over${WITHOUT}`,
      `line 10: password_hash: sha256 is too weak to take over${WITHOUT}`,
      `line 11: password_hash: hmac is too weak to take over${WITHOUT}`,
      `line 12: password_hash: ldap is too weak to take over${WITHOUT}`,
      `line 13: password_hash: its salt beside the hash is not supported${WITHOUT}`,
      `line 14: password_hash: it is of a password that was not encoded in UTF-8${WITHOUT}`,
    ],
    users: [ADA, ...HASHES_OF_AUTH0.map((email) => ({ ...ADA, email, first_name: '-', last_name: '-' })), BOB],
    logins: Object.fromEntries(['ada@example.com', ...HASHES_OF_AUTH0].map((email) => [email, PASSWORD])),
  },
  firebase: {
    args: ['--from', 'firebase', '--hash-config', fixture('firebase-hash-config.txt'), fixture('firebase-users.json')],
    counts: 'read 3 = created 2 + updated 0 + skipped 0 + rejected 1',
    notImported: { localId: 3, photoUrl: 1, customAttributes: 1, providerUserInfo: 2, phoneNumber: 1 },
    rejections: ['line 44: email: is missing'],
    users: [ADA, { ...BOB, first_name: '-' }],
    logins: { 'ada@example.com': 'user1password' },
  },
  keycloak: {
    args: ['--from', 'keycloak', fixture('keycloak-realm.json')],
    counts: 'read 4 = created 3 + updated 0 + skipped 0 + rejected 1',
    notImported: {
      id: 4,
      username: 4,
      totp: 4,
      'credentials.id': 3,
      'credentials.userLabel': 3,
      'credentials.createdDate': 3,
      realmRoles: 4,
      notBefore: 4,
    },
    rejections: ['line 95: email: is missing'],
    users: [ADA, { ...BOB, last_name: 'Byrne', verified: true }, { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: 'Can' }],
    logins: { 'ada@example.com': PASSWORD, 'cem@example.com': PASSWORD },
  },
  django: {
    args: ['--from', 'django', fixture('django.json')],
    counts: 'read 4 = created 3 + updated 0 + skipped 0 + rejected 1',
    notImported: { 'fields.username': 4, 'fields.is_staff': 4 },
    rejections: [`line 1: password_hash: md5 is too weak to take over${WITHOUT}`],
    users: [
      { ...ADA, role: 'admin' },
      { ...BOB, first_name: '-' },
      { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'django, without passwords': {
    args: ['--from', 'django', '--without-passwords', fixture('django.json')],
    counts: 'read 4 = created 4 + updated 0 + skipped 0 + rejected 0',
    notImported: { 'fields.username': 4, 'fields.is_staff': 4 },
    users: [
      { ...ADA, role: 'admin' },
      { ...BOB, first_name: '-' },
      { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: '-' },
      { ...ADA, email: 'dan@example.com', first_name: 'Dan', last_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, joined': {
    args: ['--from', 'better-auth', fixture('better-auth.jsonl')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { updatedAt: 2, banReason: 1 },
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, two tables': {
    args: ['--from', 'better-auth', fixture('better-auth-tables.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { 'account of providerId google': 1, 'account.id': 2, 'account.accountId': 2, updatedAt: 2, banReason: 1 },
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, tables of Drizzle': {
    args: ['--from', 'better-auth', fixture('better-auth-drizzle.jsonl')],
    counts: 'read 3 = created 3 + updated 0 + skipped 0 + rejected 0',
    notImported: { updated_at: 3, ban_reason: 2 },
    users: [{ ...ADA, role: 'admin' }, BOB, { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: '-' }],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, SQLite': {
    args: ['--from', 'better-auth', fixture('better-auth-sqlite.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { updatedAt: 2, banReason: 1 },
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'fastapi-template, CSV': {
    args: ['--from', 'fastapi-template', fixture('fastapi-template.csv')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { id: 2 },
    users: [
      { ...ADA, role: 'admin', last_name: '"Countess" Lovelace' },
      { ...BOB, first_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'fastapi-template, JSON': {
    args: ['--from', 'fastapi-template', fixture('fastapi-template.json')],
    counts: 'read 1 = created 1 + updated 0 + skipped 0 + rejected 0',
    notImported: { id: 1 },
    users: [{ ...ADA, role: 'admin' }],
    logins: { 'ada@example.com': PASSWORD },
  },
  'fastapi-template, CSV of the other project': {
    args: ['--from', 'fastapi-template', '--keep-ids', fixture('fastapi-template-users.csv')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'fastapi-template, JSON of the other project': {
    args: ['--from', 'fastapi-template', fixture('fastapi-template-users.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    notImported: { nickname: 1 },
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  latchkey: {
    args: ['--from', 'latchkey', fixture('latchkey.jsonl')],
    counts: 'read 3 = created 3 + updated 0 + skipped 0 + rejected 0',
    users: [
      { ...ADA, role: 'admin' },
      { ...BOB, first_name: '-', banned: false, verified: true },
      { ...BOB, email: 'cem@example.com', first_name: '-', banned: false },
    ],
    logins: { 'ada@example.com': PASSWORD, 'bob@example.com': PASSWORD },
  },
  csv: {
    args: ['--from', 'csv', fixture('users.csv')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [
      { ...ADA, role: 'admin', last_name: 'Lovelace, Countess of' },
      { ...BOB, last_name: 'Byrne' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
}

async function assertLogins(line: CommandLine, logins: Case['logins']): Promise<void> {
  const db = await line.database()
  const { login } = servicesOn(db)
  for (const [email, password] of Object.entries(logins)) {
    await assert.rejects(login.api.byPassword(ORIGIN, email, `${password}.`), { code: 'wrong_credentials' })
    // Whoever brings codes of an app is asked for one.
    assert.match((await login.api.byPassword(ORIGIN, email, password)).kind, /^(session|second step)$/)
  }
}

for (const [name, { args, counts, notImported = {}, rejections = [], users, logins }] of Object.entries(CASES))
  test(`user import reads the export of ${name}`, async (t) => {
    const line = await commandLine(t)
    const { code, stdout, stderr } = await line.run(['user', 'import', ...args])
    const [notice = '', ...rest] = name === 'latchkey' ? stderr.split('\n') : ['', ...stderr.split('\n')]
    const named = Object.entries(notImported).map(([field, count]) => `not imported: "${field}" (${count} user${count === 1 ? '' : 's'})`)
    assert.deepEqual(rest, [...named, ...rejections.map((text) => `latchkey: ${text}`), ''])
    if (name === 'latchkey') assert.match(notice, /^hashing 1 passwords takes about \d+ s$/)
    assert.deepEqual([stdout, code], [`${counts}\n`, rejections.length > 0 ? 1 : 0])
    const listed = json(await line.run(['user', 'list', '--json'])) as readonly { id: number }[]
    assert.deepEqual(
      listed.map(({ id: _, ...user }) => user),
      users,
    )
    await assertLogins(line, logins)
  })

test('the two exports of Auth0 are merged by importing the second with --on-conflict update', async (t) => {
  const line = await commandLine(t)
  await line.run(['user', 'import', '--from', 'auth0', fixture('auth0-users.ndjson')])
  const { stdout } = await line.run(['user', 'import', '--from', 'auth0', '--on-conflict', 'update', fixture('auth0-hashes.ndjson')])
  assert.equal(stdout, 'read 2 = created 0 + updated 2 + skipped 0 + rejected 0\n')
  const listed = json(await line.run(['user', 'list', '--json'])) as readonly { id: number }[]
  assert.deepEqual(
    listed.map(({ id: _, ...user }) => user),
    [ADA, { ...BOB, first_name: '-' }],
  )
  await assertLogins(line, { 'ada@example.com': PASSWORD })
})

const convert = (from: SourceName, record: JsonObject) => createSource(from, undefined).convert(record)

nodeTest('names that are empty or missing are taken from the full name, if there is one', () => {
  for (const empty of [undefined, null, '']) {
    const [first, last] = [
      { first_name: empty, last_name: empty },
      { given_name: empty, family_name: empty },
    ]
    const supabase = convert('supabase', { raw_user_meta_data: { ...first, name: 'Ada Lovelace' } })
    const auth0 = convert('auth0', { ...last, name: 'Ada Lovelace' })
    for (const { first_name, last_name } of [supabase, auth0]) assert.deepEqual([first_name, last_name], ['Ada', 'Lovelace'])
  }
  const given = convert('auth0', { given_name: 'Ada', family_name: null, name: 'Somebody Else' })
  assert.deepEqual([given['first_name'], given['last_name']], ['Ada', null])
})

nodeTest('an address of Supabase is verified if it was confirmed, also in old tables, and not if only a phone number was', () => {
  const confirmed = '2024-03-01 10:20:30+00'
  const verified = (record: JsonObject) => convert('supabase', record)['verified']
  assert.equal(verified({ email_confirmed_at: confirmed, confirmed_at: confirmed }), true)
  assert.equal(verified({ email_confirmed_at: null, confirmed_at: confirmed }), false)
  assert.equal(verified({ confirmed_at: confirmed }), true)
  assert.equal(verified({ confirmed_at: null }), false)
})

nodeTest('times are read in the forms that databases and products write; without an offset they are UTC', () => {
  const expected = Date.UTC(2026, 0, 31, 9, 30, 5, 120)
  const forms = [
    '2026-01-31T09:30:05.12Z',
    '2026-01-31T10:30:05.120+01:00',
    '2026-01-31T10:30:05.120+0100',
    '2026-01-31 09:30:05.120456+00',
    '2026-01-31 15:00:05.12+05:30',
    '2026-01-31 09:30:05.12',
    '2026-01-31T09:30:05.120456',
  ]
  for (const form of forms) assert.equal(checkTime('created_at', form), expected, form)
  for (const wrong of ['2026-01-31', '09:30:05', '2026-02-30T09:30:05', '2026-01-31T09:30:0512', '2026-01-31 09:30:05 CET', '1769851805'])
    assert.throws(() => checkTime('created_at', wrong), Rejected, wrong)
})

nodeTest('a time before 1970 is read as 1970: some products store one where a time is missing', () => {
  for (const early of [
    '0001-01-01 00:00:00+00',
    '0001-01-01T00:00:00Z',
    '0096-02-29T00:00:00Z',
    '1969-12-31T23:59:59.999Z',
    '1900-01-01T00:00:00',
  ])
    assert.equal(checkTime('created_at', early), 0, early)
  assert.throws(() => checkTime('created_at', '0097-02-29T00:00:00Z'), Rejected)
})

nodeTest('numbers are times in milliseconds or in seconds, within the years that the format has', () => {
  for (const value of [1_735_787_045_000, '1735787045000', 1_735_787_045, '1735787045', 1_735_787_045.0004])
    assert.equal(fromTimestamp(value), '2025-01-02T03:04:05.000Z', String(value))
  for (const value of [0, '0', -1, '-1', -62_135_596_800_000]) assert.equal(fromTimestamp(value), '1970-01-01T00:00:00.000Z', String(value))
  for (const value of [9e15, 1e300, '99999999999999999']) assert.equal(fromTimestamp(value), '9999-12-31T23:59:59.999Z', String(value))
  for (const value of [undefined, null, '', 'soon', '1e9', Number.NaN, Number.POSITIVE_INFINITY, {}, true])
    assert.equal(fromTimestamp(value), undefined, String(value))
})

nodeTest('a ban that has expired is not imported, one without an end is, and one with an unreadable end is rejected', () => {
  const bannedUntil = (value: unknown) => isInFuture('banned_until', value)
  for (const future of [
    'infinity',
    '2999-01-01 00:00:00+00',
    '2999-01-01T00:00:00',
    32_503_680_000_000,
    '32503680000000',
    32_503_680_000,
    9e15,
  ])
    assert.equal(bannedUntil(future), true, String(future))
  for (const past of [
    undefined,
    null,
    '',
    '2020-01-01 00:00:00+00',
    '2020-01-01T00:00:00',
    0,
    -1,
    '0001-01-01 00:00:00+00',
    '1969-12-31 23:59:59+00',
    1_735_787_045,
  ])
    assert.equal(bannedUntil(past), false, String(past))
  for (const unreadable of ['soon', '-infinity', true, {}]) assert.throws(() => bannedUntil(unreadable), Rejected)
})

nodeTest(
  'a user of the FastAPI template belongs to one of its two projects, by its password, and its role and ban are never guessed',
  () => {
    const both = { email: 'ada@example.com', password: 'x', hashed_password: 'x' }
    assert.throws(() => convert('fastapi-template', both), new Rejected('password, hashed_password: only one of them may be given'))
    const fields = (record: JsonObject) => createSource('fastapi-template', undefined).fieldsOf(record)
    assert.ok('full_name' in fields({ hashed_password: 'x', first_name: 'Ada' }) && !('first_name' in fields({ hashed_password: 'x' })))
    assert.ok('first_name' in fields({ password: 'x', full_name: 'Ada' }) && !('full_name' in fields({ password: 'x' })))
    const check = (record: JsonObject) =>
      checkUser(convert('fastapi-template', { email: 'ada@example.com', password: null, ...record }), 1, CHECK)
    assert.equal(check({ role: 'RoleType.admin' }).role, 'admin')
    assert.throws(() => check({ role: 'RoleType.owner' }), new Rejected('role: should be user or admin'))
    assert.throws(() => check({ banned: 'perhaps' }), new Rejected('banned: should be true or false'))
    assert.throws(() => check({ banned: 2 }), new Rejected('banned: should be true or false'))
  },
)

nodeTest('a hash of a bulk import into Auth0 that cannot be verified is rejected with the reason, or left out on request', () => {
  const custom = (value: object) => ({ email: 'ada@example.com', custom_password_hash: value })
  const scrypt = { algorithm: 'scrypt', hash: { value: 'ab'.repeat(32), encoding: 'hex' }, salt: { value: 'abc' }, keylen: 32 }
  assert.equal(checkUser(convert('auth0', custom(scrypt)), 1, CHECK).foreignKind, 'scrypt 16384 8 1/1')
  const cases: readonly (readonly [object, string])[] = [
    [{}, 'it is of an unknown kind'],
    [{ algorithm: { toString: 1 } }, 'it is of an unknown kind'],
    [{ algorithm: 'md4' }, 'md4 is too weak to take over'],
    [{ algorithm: 'bcrypt' }, 'its hash.value should be text'],
    [{ algorithm: 'bcrypt', hash: { value: '5f4dcc3b5aa765d61d8327deb882cf99' } }, 'md5 is too weak to take over'],
    [{ algorithm: 'pbkdf2', hash: { value: '$pbkdf2-whirlpool$i=1000,l=64$c2FsdA$aGFzaA' } }, 'it is of an unknown kind, or damaged'],
    [{ ...scrypt, keylen: 64 }, 'its keylen should be the number of bytes of the hash'],
    [{ ...scrypt, cost: 1000 }, 'its cost should be a power of two'],
    [{ ...scrypt, cost: { toString: 1 } }, 'its cost should be a power of two'],
    [{ ...scrypt, cost: 2 ** 21 }, 'its logarithm of N should be from 1 to 20'],
    [{ ...scrypt, blockSize: '8' }, 'it is of an unknown kind, or damaged'],
    [{ ...scrypt, hash: { value: scrypt.hash.value } }, 'its hash.encoding should be hex or base64'],
    [{ ...scrypt, hash: { value: 'xyz', encoding: 'hex' } }, 'its hash.value should be hex'],
    [{ ...scrypt, salt: undefined }, 'its salt.value should be utf8'],
    [{ ...scrypt, salt: { value: 'a!', encoding: 'base64' } }, 'its salt.value should be base64'],
  ]
  for (const [hash, reason] of cases) {
    const user = convert('auth0', custom(hash))
    assert.throws(() => checkUser(user, 1, CHECK), new Rejected(`password_hash: ${reason}${WITHOUT}`), reason)
    assert.equal(checkUser(user, 1, { withoutPasswords: true }).passwordHash, undefined)
  }
  assert.throws(
    () => convert('auth0', { ...custom(scrypt), password_hash: '$2b$04$x' }),
    new Rejected('passwordHash, password_hash, custom_password_hash: only one of them may be given'),
  )
})

nodeTest('a credential of Keycloak with objects in place of texts is rejected like every other hash', () => {
  const credentialData = JSON.stringify({ algorithm: { toString: 1 }, hashIterations: { toString: 1 } })
  const record = { username: 'ada', email: 'ada@example.com', credentials: [{ type: 'password', credentialData, secretData: '{}' }] }
  assert.throws(
    () => checkUser(convert('keycloak', record), 1, CHECK),
    new Rejected(`password_hash: it is of an unknown kind, or damaged${WITHOUT}`),
  )
})

const BOOLEANS: readonly (readonly [SourceName, JsonObject, string, 'banned' | 'verified' | 'role', unknown])[] = [
  ['latchkey', {}, 'banned', 'banned', true],
  ['latchkey', {}, 'verified', 'verified', true],
  ['csv', {}, 'banned', 'banned', true],
  ['better-auth', { emailVerified: true }, 'banned', 'banned', true],
  ['better-auth', {}, 'emailVerified', 'verified', true],
  ['auth0', {}, 'blocked', 'banned', true],
  ['auth0', {}, 'email_verified', 'verified', true],
  ['firebase', {}, 'disabled', 'banned', true],
  ['firebase', {}, 'emailVerified', 'verified', true],
  ['keycloak', {}, 'enabled', 'banned', false],
  ['keycloak', {}, 'emailVerified', 'verified', true],
  ['django', {}, 'is_active', 'banned', false],
  ['django', {}, 'is_superuser', 'role', 'admin'],
  ['fastapi-template', { password: null }, 'banned', 'banned', true],
  ['fastapi-template', { password: null }, 'verified', 'verified', true],
  ['fastapi-template', { hashed_password: null }, 'is_active', 'banned', false],
  ['fastapi-template', { hashed_password: null }, 'is_superuser', 'role', 'admin'],
]

for (const [from, others, name, field, expected] of BOOLEANS)
  nodeTest(`${name} of ${from} is read in every usual spelling, and any other spelling rejects the user`, () => {
    const check = (value: unknown) => {
      const fields = { email: 'ada@example.com', ...others, [name]: value }
      return checkUser(convert(from, from === 'django' ? { fields } : fields), 1, CHECK)[field]
    }
    const opposite = field === 'role' ? 'user' : !expected
    for (const yes of [true, 1, '1', 'true', 'True', 'TRUE', 't', 'T', 'yes', 'YES', 'on', 'On'])
      assert.equal(check(yes), expected, String(yes))
    for (const no of [false, 0, '0', 'false', 'False', 'f', 'F', 'no', 'No', 'off', 'OFF']) assert.equal(check(no), opposite, String(no))
    for (const wrong of ['perhaps', 'Y', 'tru', 2, -1, Number.NaN, {}, [], [true]])
      assert.throws(() => check(wrong), new Rejected(`${name}: should be true or false`), String(wrong))
  })

nodeTest('an account of Supabase that is marked as deleted is rejected, however the time is written', () => {
  for (const deleted_at of ['2024-03-01 10:20:30+00', 1_735_787_045])
    assert.throws(() => convert('supabase', { deleted_at }), new Rejected('the account is marked as deleted'))
  for (const deleted_at of [null, '', undefined]) convert('supabase', { deleted_at })
})
