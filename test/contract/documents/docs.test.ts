import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../../../src/cli/latchkey.ts'
import { describeSettings, loadConfig } from '../../../src/config/load.ts'
import { PROVIDER_PARTS } from '../../../src/config/providers.ts'
import { ROOT, read, rows } from '../../support/documents.ts'

const DOCUMENTS = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((name) => name.endsWith('.md')),
]

// The changelog names files and scripts of earlier versions.
const CURRENT_DOCUMENTS = DOCUMENTS.filter((document) => document !== 'CHANGELOG.md')
// The sections of a decision record, in this order.
const SECTIONS = ['## Problem', '## Alternatives', '## Decision', '## Price']

test('docs/settings.md lists every setting with its default, and no other', () => {
  const requested = new Set<string>()
  const recording = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        requested.add(String(name))
        return undefined
      },
    },
  )
  const config = loadConfig(recording)
  const documented = rows('docs/settings.md', 'Settings')
  // Each provider has settings of its own.
  const ofProviders = Object.keys(PROVIDER_PARTS).map((part) => `PROVIDER_<NAME>_${part}`)
  assert.deepEqual(documented.map(([name]) => name).sort(), [...requested, ...ofProviders].sort())

  const defaults = new Map(documented.map(([name, value]) => [name, value ?? '']))
  assert.equal(defaults.get('HOST'), config.host)
  assert.equal(defaults.get('DATABASE_URL'), 'sqlite:data/latchkey.db')
  assert.equal(defaults.get('BASE_URL')?.replace('{PORT}', String(config.port)), config.baseUrl)
  // Setting a documented default changes nothing.
  const described: (string | undefined)[] = ['BASE_URL', 'SECRET_KEY', 'PASSKEY_RP_ID', ...ofProviders]
  const texts = [...defaults].filter(([name, text]) => !described.includes(name) && text !== 'none')
  assert.deepEqual(loadConfig(Object.fromEntries(texts)), config)
  // A setting that is documented without a default has none.
  const unset = describeSettings(config).flatMap(({ name, isSet }) => (isSet ? [] : [name]))
  const documentedWithout = documented.flatMap(([name = '', text]) => (text === 'none' ? [name] : []))
  assert.ok(documentedWithout.length > 10)
  // The origin of the service itself is always one of them.
  assert.deepEqual(config.relyingParty?.origins.length, 1)
  assert.deepEqual(
    documentedWithout.filter((name) => !unset.includes(name)),
    ['PASSKEY_ORIGINS'],
  )
})

test('docs/command-line.md lists every command, and no other', () => {
  const leaves = (command: Command, words: readonly string[]): string[] =>
    command.commands.length === 0 ? [words.join(' ')] : command.commands.flatMap((child) => leaves(child, [...words, child.name()]))
  // A row may list two commands that belong together; parameters are in capitals.
  const documented = rows('docs/command-line.md', 'Command line').flatMap(([names = '']) =>
    names.split(', ').map((name) => name.replace(/ \[?[A-Z_]+\]?/g, '')),
  )
  assert.deepEqual(documented.sort(), leaves(createProgram(), []).sort())
})

/** The anchor that a heading gets: lower case, words joined by hyphens, other characters removed. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

test('every link between documents leads to a file and a heading that exist', () => {
  let anchors = 0
  for (const document of DOCUMENTS) {
    for (const [, path = '', anchor] of read(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const target = path === '' ? document : join(dirname(document), path)
      assert.ok(existsSync(join(ROOT, target)), `${document} links to ${target}`)
      if (anchor === undefined) continue
      const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
      assert.ok(headings.includes(anchor), `${document} links to ${target}#${anchor}`)
      anchors++
    }
  }
  assert.ok(anchors > 3)
})

test('docs/README.md lists every page for readers, and no other', () => {
  const listed = [...read('docs/README.md').matchAll(/^\| \[[^\]]+\]\(([^)]+)\) \|/gm)].map(([, path = '']) => join('docs', path))
  const decisions = DOCUMENTS.filter((document) => document.startsWith('docs/decisions/') && !document.endsWith('README.md'))
  const expected = new Set([...DOCUMENTS, 'packages/client/README.md', 'examples/notes/README.md']).difference(
    new Set(['docs/README.md', ...decisions]),
  )
  assert.deepEqual(listed.toSorted(), [...expected].toSorted())
})

test('no document says that something is easy', () => {
  for (const document of DOCUMENTS) assert.doesNotMatch(read(document), /\b(?:just|simply|easy|easily|obviously)\b/i, document)
})

test('docs/decisions/README.md lists every decision with its title, and no other', () => {
  const names = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name !== 'README.md')
  const expected = names.sort().map((name, index) => {
    const text = read(`docs/decisions/${name}`)
    const [, number, title] = /^# (\d+)\. (.+)$/m.exec(text) ?? []
    assert.equal(number, String(index + 1), 'decisions are numbered without a gap')
    assert.ok(name.startsWith(`${String(index + 1).padStart(4, '0')}-`), name)
    assert.deepEqual(text.match(/^## .*$/gm), SECTIONS, name)
    return `${number}. [${title}](${name})`
  })
  const listed = read('docs/decisions/README.md').match(/^\d+\. .*$/gm)
  assert.deepEqual(listed, expected)
})

test('every npm script that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const document of CURRENT_DOCUMENTS) {
    for (const [, name = ''] of read(document).matchAll(/npm run (?:--silent )?([\w:]+)/g))
      assert.ok(name in scripts, `${document} names ${name}`)
  }
})

test('every file of the repository that a document names exists', () => {
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const inSources = new RegExp(`^(?:${folders.map(({ name }) => name).join('|')})/`)
  const names = CURRENT_DOCUMENTS.flatMap((document) =>
    [...read(document).matchAll(/`([\w-][\w./-]*\.(?:ts|sql|yml|conf|cfg|service)|(?:test|src|bench|deploy|migrations)\/[\w./-]+)`/g)].map(
      ([, name = '']) => ({ document, name: inSources.test(name) ? `src/${name}` : name }),
    ),
  )
  assert.ok(names.length > 50)
  const missing = names.filter(({ name }) => !existsSync(join(ROOT, name)))
  assert.deepEqual(missing, [])
})

test('docs/architecture.md lists every folder and every top-level file of src, and no other', () => {
  const tree = read('docs/architecture.md').split('\nsrc/\n')[1]?.split('\nbench/')[0] ?? ''
  const listed: string[] = []
  const parents: string[] = []
  for (const line of tree.split('\n')) {
    const [, indent = '', name = ''] = /^( +)(\S+)/.exec(line) ?? []
    const depth = indent.length / 2 - 1
    parents[depth] = name
    listed.push(parents.slice(0, depth + 1).join(''))
  }
  const entries = readdirSync(join(ROOT, 'src'), { withFileTypes: true, recursive: true })
  const expected = entries
    .filter((entry) => entry.isDirectory() || entry.parentPath === join(ROOT, 'src'))
    .map((entry) => relative(join(ROOT, 'src'), join(entry.parentPath, entry.name)) + (entry.isDirectory() ? '/' : ''))
  assert.deepEqual(listed.sort(), expected.sort())
})

test('a noun has the same folder name in domain, routes and repositories', () => {
  const foldersOf = (path: string) =>
    readdirSync(join(ROOT, 'src', path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  const nouns = foldersOf('domain')
  // `changes` is how rules write and `values` has rules for single values: neither is a noun.
  assert.deepEqual(
    ['http/routes', 'storage/repositories'].flatMap((layer) => foldersOf(layer).filter((name) => !nouns.includes(name))),
    [],
  )
  for (const noun of ['users', 'sessions', 'keys', 'identity', 'audit', 'mail', 'operations'])
    for (const layer of ['http/routes', 'storage/repositories']) assert.ok(foldersOf(layer).includes(noun), `${layer}/${noun} is missing`)
  for (const noun of ['limits', 'webhooks', 'import']) assert.ok(foldersOf('storage/repositories').includes(noun), noun)
  assert.ok(foldersOf('http/routes').includes('sign-in'))
})
