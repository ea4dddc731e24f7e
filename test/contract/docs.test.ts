import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/latchkey.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ANSWERS } from '../../src/http/pipeline/errors.ts'
import { COMPLAINTS } from '../../src/http/validation/validation-error.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCUMENTS = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((name) => name.endsWith('.md')),
]

function read(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8')
}

/** The cells of each row of the table below a heading. */
function rows(document: string, heading: string): string[][] {
  const section = read(document).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test('docs/operations.md lists every setting, and no other, with its default', () => {
  const asked = new Set<string>()
  const noting = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        asked.add(String(name))
        return undefined
      },
    },
  )
  const config = loadConfig(noting)
  const documented = rows('docs/operations.md', 'Settings')
  assert.deepEqual(documented.map(([name]) => name).sort(), [...asked].sort())

  const defaults = new Map(documented.map(([name, value]) => [name, value ?? '']))
  assert.equal(defaults.get('HOST'), config.host)
  assert.equal(defaults.get('DATABASE_URL'), 'sqlite:data/latchkey.db')
  assert.equal(defaults.get('BASE_URL')?.replace('{PORT}', String(config.port)), config.baseUrl)
  // What is documented as a default changes nothing when it is set.
  const texts = [...defaults].filter(([name, text]) => name !== 'BASE_URL' && name !== 'SECRET_KEY' && text !== 'none')
  assert.deepEqual(loadConfig(Object.fromEntries(texts)), config)
  for (const [name, text] of defaults)
    if (text === 'none') assert.equal(loadConfig({ SECRET_KEY: TEST_SECRET, [String(name)]: '' }).port, 8000)
})

test('docs/operations.md lists every command, and no other', () => {
  const leaves = (command: Command, words: readonly string[]): string[] =>
    command.commands.length === 0 ? [words.join(' ')] : command.commands.flatMap((child) => leaves(child, [...words, child.name()]))
  // A row may hold two commands that belong together; what they are given is in capitals.
  const documented = rows('docs/operations.md', 'Command line').flatMap(([names = '']) =>
    names.split(', ').map((name) => name.replace(/ [A-Z_]+/g, '')),
  )
  assert.deepEqual(documented.sort(), leaves(createProgram(), []).sort())
})

test('docs/errors.md lists every refusal, and no other, with its status and its words', () => {
  const documented = rows('docs/errors.md', 'Refusals').map(([status, detail, code]) => ({ code, status: Number(status), detail }))
  const answers = Object.entries(ANSWERS).map(([code, { status, detail }]) => ({ code, status, detail }))
  const byCode = (one: { code?: string | undefined }, other: { code?: string | undefined }) =>
    String(one.code).localeCompare(String(other.code))
  assert.deepEqual(documented.sort(byCode), answers.sort(byCode))
})

test('docs/errors.md names every type of fault', () => {
  const text = read('docs/errors.md')
  for (const { type } of Object.values(COMPLAINTS)) assert.ok(text.includes(`\`${type}\``), `${type} is missing`)
})

test('every link between documents leads somewhere', () => {
  for (const document of DOCUMENTS) {
    for (const [, target = ''] of read(document).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) {
      assert.ok(existsSync(join(ROOT, dirname(document), target)), `${document} links to ${target}`)
    }
  }
})

test('documents do not tell a reader how easy something is', () => {
  for (const document of DOCUMENTS) assert.doesNotMatch(read(document), /\b(?:just|simply|easy|easily|obviously)\b/i, document)
})

test('decisions are numbered without a gap, and each carries its number', () => {
  const names = readdirSync(join(ROOT, 'docs/decisions')).sort()
  names.forEach((name, index) => {
    assert.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}-[a-z0-9-]+\\.md$`))
    assert.match(read(`docs/decisions/${name}`), new RegExp(`^# ${index + 1}\\. `))
  })
})

test('every npm script that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const document of DOCUMENTS) {
    for (const [, name = ''] of read(document).matchAll(/npm run ([\w:]+)/g)) assert.ok(name in scripts, `${document} names ${name}`)
  }
})

test('every test that a document names exists', () => {
  const names = DOCUMENTS.flatMap((document) =>
    [...read(document).matchAll(/`(test\/[\w./-]+)/g)].map(([, name = '']) => ({ document, name })),
  )
  assert.ok(names.length > 20)
  for (const { document, name } of names) assert.ok(existsSync(join(ROOT, name)), `${document} names ${name}`)
})

test('docs/architecture.md names every folder of the sources', () => {
  const text = read('docs/architecture.md')
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  assert.ok(folders.length > 5)
  for (const { name } of folders) assert.ok(text.includes(`\n  ${name}/ `), `${name}/ is missing`)
})
