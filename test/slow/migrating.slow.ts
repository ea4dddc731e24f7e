import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import postgres from 'postgres'
import { createBetterAuth } from '../../src/cli/import/sources/better-auth.source.ts'
import { SOURCE_NAMES } from '../../src/cli/import/sources/source-names.ts'
import { checkTime } from '../../src/domain/import/field-checks.ts'
import type { JsonObject } from '../../src/model/entity.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { emptyPostgres, temporaryFolder } from '../support/databases/databases.ts'
import { ROOT, read } from '../support/documents.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'

type Section = {
  /** The files that the commands of the section read, with the fixtures that take their place. */
  readonly files: Readonly<Record<string, string>>
  /** The last line that each command prints. */
  readonly printed: readonly string[]
}

const SECTIONS: Readonly<Record<string, Section>> = {
  'The import': {
    files: { 'users.json': 'firebase-users.json', 'hash-config.txt': 'firebase-hash-config.txt' },
    printed: ['read 3 = created 2 + updated 0 + skipped 0 + rejected 1', 'read 3 = created 2 + updated 0 + skipped 0 + rejected 1'],
  },
  Latchkey: {
    files: {},
    printed: ['Exported 0 users to users.jsonl. It contains password hashes and the secrets of second factors: keep it secret.', ''],
  },
  CSV: { files: { 'users.csv': 'users.csv' }, printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0'] },
  Supabase: { files: { 'users.csv': 'supabase.csv' }, printed: ['read 6 = created 3 + updated 0 + skipped 1 + rejected 2'] },
  Auth0: {
    files: {
      'auth0-users.ndjson': 'auth0-users.ndjson',
      'auth0-hashes.ndjson': 'auth0-hashes.ndjson',
      'auth0-bulk.json': 'auth0-bulk.json',
    },
    printed: [
      'read 2 = created 2 + updated 0 + skipped 0 + rejected 0',
      'read 2 = created 0 + updated 2 + skipped 0 + rejected 0',
      'read 14 = created 6 + updated 0 + skipped 2 + rejected 6',
    ],
  },
  Firebase: {
    files: { 'firebase-users.json': 'firebase-users.json', 'firebase-hash-config.txt': 'firebase-hash-config.txt' },
    printed: ['read 3 = created 2 + updated 0 + skipped 0 + rejected 1'],
  },
  Keycloak: {
    files: { 'keycloak-realm.json': 'keycloak-realm.json' },
    printed: ['read 4 = created 3 + updated 0 + skipped 0 + rejected 1'],
  },
  Django: { files: { 'django.json': 'django.json' }, printed: ['read 4 = created 3 + updated 0 + skipped 0 + rejected 1'] },
  'better-auth': {
    files: { 'better-auth.jsonl': 'better-auth.jsonl', 'better-auth.json': 'better-auth-sqlite.json' },
    printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0', 'read 2 = created 0 + updated 0 + skipped 2 + rejected 0'],
  },
  'FastAPI template': {
    files: { 'fastapi-template.csv': 'fastapi-template.csv', 'fastapi-template-users.csv': 'fastapi-template-users.csv' },
    printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0', 'read 2 = created 0 + updated 0 + skipped 2 + rejected 0'],
  },
}

/** The commands of Latchkey in each section of the page. */
function commandsBySection(): Map<string, string[]> {
  const sections = read('docs/migrating.md').split(/^## /m).slice(1)
  return new Map(
    sections.map((section) => {
      const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
      const commands = blocks.flatMap((block) => block.split('\n').filter((line) => line.startsWith('latchkey ')))
      return [section.slice(0, section.indexOf('\n')), commands] as const
    }),
  )
}

test('docs/migrating.md has a section with commands for every source', () => {
  const all = [...commandsBySection().values()].flat()
  for (const name of SOURCE_NAMES)
    assert.ok(
      all.some((command) => command.includes(`--from ${name}`)),
      name,
    )
})

for (const [name, commands] of commandsBySection()) {
  if (commands.length === 0) continue
  test(`the commands of docs/migrating.md work as they are printed: ${name}`, async (t) => {
    const section = SECTIONS[name]
    assert.ok(section, 'the section is tested')
    const folder = temporaryFolder(t)
    for (const [file, fixture] of Object.entries(section.files))
      copyFileSync(join(ROOT, 'test/fixtures/import', fixture), join(folder, file))
    const env = { SECRET_KEY: TEST_SECRET, DATABASE_URL: `sqlite:${join(folder, 'latchkey.db')}` }
    const printed: string[] = []
    for (const command of commands) {
      const [, ...args] = command.split(' ')
      const { stdout } = await runNode(t, LATCHKEY, args, { cwd: folder, env })
      printed.push(stdout.trimEnd().split('\n').at(-1) ?? '')
    }
    assert.deepEqual(printed, section.printed)
  })
}

/** The tables of better-auth as its own migrations create them, and as its generator for Drizzle does. */
const BETTER_AUTH_TABLES = {
  'better-auth': `
    create table "user" (id uuid primary key, name text, email text, "emailVerified" boolean, "createdAt" timestamptz);
    create table account (id text, "userId" uuid references "user", "providerId" text, password text);`,
  Drizzle: `
    create table "user" (id text primary key, name text, email text, email_verified boolean, created_at timestamp);
    create table account (id text, user_id text references "user", provider_id text, password text);`,
}

for (const [creator, tables] of Object.entries(BETTER_AUTH_TABLES))
  test(`the statement of docs/migrating.md exports the users of better-auth from the tables of ${creator}`, async (t) => {
    const [, statement = ''] = /-At > better-auth\.jsonl <<'SQL'\n([\s\S]*?)\nSQL\n/.exec(read('docs/migrating.md')) ?? []
    const [ada, bob] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
    const sql = postgres(await emptyPostgres(t), { max: 1, onnotice: () => undefined })
    await sql.unsafe(`${tables}
      insert into "user" values ('${ada}', 'Ada', 'ada@example.com', true, '2025-01-02 03:04:05Z'), ('${bob}', 'Bob', 'bob@example.com', false, now());
      insert into account values ('1', '${ada}', 'google', null), ('2', '${ada}', 'credential', 'the hash'), ('3', '${bob}', 'google', null)`)
    const rows = await sql.unsafe(statement)
    await sql.end()
    const source = createBetterAuth()
    const users = rows.flatMap((row) => Object.values(row) as JsonObject[]).map((row) => (source.isUser(row) ? source.convert(row) : {}))
    assert.deepEqual(users.map(({ email, verified, password_hash }) => [email, verified, password_hash]).toSorted(), [
      ['ada@example.com', true, 'the hash'],
      ['bob@example.com', false, undefined],
    ])
    assert.equal(
      checkTime('created_at', users.find(({ email }) => email === 'ada@example.com')?.['created_at']),
      Date.UTC(2025, 0, 2, 3, 4, 5),
    )
  })
