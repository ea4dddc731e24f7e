import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { servicesOn } from '../support/app/accounts.ts'
import { test } from '../support/databases/databases.ts'
import { ORIGIN } from '../support/http/origins.ts'
import { PASSWORD } from '../support/http/requests.ts'
import { type CommandLine, commandLine, json } from '../support/processes/command-line.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/import/${name}`, import.meta.url))
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
