import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SOURCE_NAMES } from '../../../src/cli/moving/sources/source-names.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { ROOT, read } from '../../support/documents.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'

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
    printed: ['Exported 0 users to users.jsonl. It contains password hashes: keep it secret.', ''],
  },
  CSV: { files: { 'users.csv': 'users.csv' }, printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0'] },
  Supabase: { files: { 'users.csv': 'supabase.csv' }, printed: ['read 3 = created 2 + updated 0 + skipped 0 + rejected 1'] },
  Auth0: {
    files: { 'auth0-users.ndjson': 'auth0-users.ndjson', 'auth0-hashes.ndjson': 'auth0-hashes.ndjson' },
    printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0', 'read 2 = created 0 + updated 2 + skipped 0 + rejected 0'],
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
    files: { 'better-auth.jsonl': 'better-auth.jsonl' },
    printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0'],
  },
  'FastAPI template': {
    files: { 'fastapi-template.csv': 'fastapi-template.csv' },
    printed: ['read 2 = created 2 + updated 0 + skipped 0 + rejected 0'],
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
      copyFileSync(join(ROOT, 'test/fixtures/moving', fixture), join(folder, file))
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
