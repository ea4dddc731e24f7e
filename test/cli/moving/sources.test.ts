import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isInFuture } from '../../../src/cli/moving/sources/source.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { checkTime } from '../../../src/domain/moving/field-checks.ts'
import { Rejected } from '../../../src/domain/moving/imported-user.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createServices } from '../../../src/services.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'
import { PASSWORD } from '../../support/http/requests.ts'
import { type CommandLine, commandLine, json } from '../../support/processes/command-line.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/moving/${name}`, import.meta.url))
const ADA = { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', role: 'user', banned: false, verified: true }
const BOB = { email: 'bob@example.com', first_name: 'Bob', last_name: '-', role: 'user', banned: true, verified: false }

type Case = {
  readonly args: readonly string[]
  readonly counts: string
  readonly rejections?: readonly string[]
  readonly users: readonly object[]
  /** The accounts that can log in, with their passwords. */
  readonly logins: Readonly<Record<string, string>>
}

const WITHOUT = '; --without-passwords imports the user for a reset by mail'

const CASES: Readonly<Record<string, Case>> = {
  'supabase, CSV': {
    args: ['--from', 'supabase', fixture('supabase.csv')],
    counts: 'read 3 = created 2 + updated 0 + skipped 0 + rejected 1',
    rejections: ['line 4: the account is marked as deleted'],
    users: [
      { ...ADA, email: 'Ada@example.com', last_name: 'King Lovelace' },
      { ...BOB, first_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'supabase, JSON': {
    args: ['--from', 'supabase', fixture('supabase.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [
      { ...ADA, email: 'Ada@example.com', last_name: 'King Lovelace' },
      { ...BOB, first_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'auth0, users': {
    args: ['--from', 'auth0', fixture('auth0-users.ndjson')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [ADA, { ...BOB, first_name: '-' }],
    logins: {},
  },
  'auth0, hashes': {
    args: ['--from', 'auth0', fixture('auth0-hashes.ndjson')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [
      { ...ADA, first_name: '-', last_name: '-' },
      { ...BOB, first_name: '-', banned: false },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  firebase: {
    args: ['--from', 'firebase', '--hash-config', fixture('firebase-hash-config.txt'), fixture('firebase-users.json')],
    counts: 'read 3 = created 2 + updated 0 + skipped 0 + rejected 1',
    rejections: ['line 29: email: is missing'],
    users: [ADA, { ...BOB, first_name: '-' }],
    logins: { 'ada@example.com': 'user1password' },
  },
  keycloak: {
    args: ['--from', 'keycloak', fixture('keycloak-realm.json')],
    counts: 'read 4 = created 3 + updated 0 + skipped 0 + rejected 1',
    rejections: ['line 103: email: is missing'],
    users: [ADA, { ...BOB, last_name: 'Byrne', verified: true }, { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: 'Can' }],
    logins: { 'ada@example.com': PASSWORD, 'cem@example.com': PASSWORD },
  },
  django: {
    args: ['--from', 'django', fixture('django.json')],
    counts: 'read 4 = created 3 + updated 0 + skipped 0 + rejected 1',
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
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, two tables': {
    args: ['--from', 'better-auth', fixture('better-auth-tables.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, tables of Drizzle': {
    args: ['--from', 'better-auth', fixture('better-auth-drizzle.jsonl')],
    counts: 'read 3 = created 3 + updated 0 + skipped 0 + rejected 0',
    users: [{ ...ADA, role: 'admin' }, BOB, { ...ADA, email: 'cem@example.com', first_name: 'Cem', last_name: '-' }],
    logins: { 'ada@example.com': PASSWORD },
  },
  'better-auth, SQLite': {
    args: ['--from', 'better-auth', fixture('better-auth-sqlite.json')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [{ ...ADA, role: 'admin' }, BOB],
    logins: { 'ada@example.com': PASSWORD },
  },
  'fastapi-template, CSV': {
    args: ['--from', 'fastapi-template', fixture('fastapi-template.csv')],
    counts: 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
    users: [
      { ...ADA, role: 'admin', last_name: '"Countess" Lovelace' },
      { ...BOB, first_name: '-' },
    ],
    logins: { 'ada@example.com': PASSWORD },
  },
  'fastapi-template, JSON': {
    args: ['--from', 'fastapi-template', fixture('fastapi-template.json')],
    counts: 'read 1 = created 1 + updated 0 + skipped 0 + rejected 0',
    users: [{ ...ADA, role: 'admin' }],
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
  const { sessions } = createServices({ db, secrets: secretsOf(loadConfig({ SECRET_KEY: TEST_SECRET })), now: Date.now })
  for (const [email, password] of Object.entries(logins)) {
    await assert.rejects(sessions.login(ORIGIN, email, `${password}.`), { code: 'wrong_credentials' })
    assert.ok((await sessions.login(ORIGIN, email, password)).token)
  }
}

for (const [name, { args, counts, rejections = [], users, logins }] of Object.entries(CASES))
  test(`user import reads the export of ${name}`, async (t) => {
    const line = await commandLine(t)
    const { code, stdout, stderr } = await line.run(['user', 'import', ...args])
    const [notice = '', ...rest] = name === 'latchkey' ? stderr.split('\n') : ['', ...stderr.split('\n')]
    assert.deepEqual(rest, [...rejections.map((text) => `latchkey: ${text}`), ''])
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

nodeTest('a ban that has expired is not imported, one without an end is, and one with an unreadable end is rejected', () => {
  const bannedUntil = (value: unknown) => isInFuture('banned_until', value)
  for (const future of ['infinity', '2999-01-01 00:00:00+00', '2999-01-01T00:00:00', 32_503_680_000_000, '32503680000000'])
    assert.equal(bannedUntil(future), true, String(future))
  for (const past of [undefined, null, '', '2020-01-01 00:00:00+00', '2020-01-01T00:00:00', 0])
    assert.equal(bannedUntil(past), false, String(past))
  for (const unreadable of ['soon', '-infinity', true, {}]) assert.throws(() => bannedUntil(unreadable), Rejected)
})
