import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROVIDER_PARTS } from '../../../src/config/providers.ts'
import { FIELDS, nameOf, SETTINGS } from '../../../src/config/settings.ts'
import { listsExactly, ROOT, read } from '../../support/documents.ts'

const MAX_LINE_LENGTH = 130

test('docs/settings.md says of every setting what its row says', () => {
  // Each provider has these settings.
  const ofProvider = Object.entries(PROVIDER_PARTS).map(
    ([part, { absence, meaning }]) => `| \`PROVIDER_<NAME>_${part}\` | ${absence} | ${meaning} |`,
  )
  const expected = FIELDS.flatMap((field) => {
    const { standard, absence, meaning } = SETTINGS[field]
    const row = `| \`${nameOf(field)}\` | ${standard === undefined ? absence : `\`${standard}\``} | ${meaning} |`
    return field === 'signInProviders' ? [row, ...ofProvider] : [row]
  })
  listsExactly('docs/settings.md', 'Settings', expected)
})

test('.env.example has the same text, ready to copy', () => {
  const [head = ''] = read('.env.example').split('\n\n')
  const expected = [head, ...FIELDS.map(exampleOf)].join('\n\n').concat('\n')
  if (process.env['UPDATE_DOCS'] === 'true') writeFileSync(join(ROOT, '.env.example'), expected)
  else assert.equal(read('.env.example'), expected, 'run `npm run docs` to write it again')
})

function exampleOf(field: (typeof FIELDS)[number]): string {
  const { standard, absence, meaning } = SETTINGS[field]
  const [, code = ''] = /^`(.*)`$/.exec(absence) ?? []
  const value = standard ?? code.replace('{PORT}', SETTINGS.port.standard ?? '')
  // A link becomes its text and the document that it leads to.
  const text = meaning.replace(/\[([^\]]+)\]\(([^)#]*)[^)]*\)/g, (_, label, file) => `${label} (docs/${file || 'settings.md'})`)
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  const family = field === 'signInProviders' ? Object.keys(PROVIDER_PARTS).map((part) => `#PROVIDER_GOOGLE_${part}=`) : []
  return [...linesOf(sentence), `#${nameOf(field)}=${value.includes(' ') ? `"${value}"` : value}`, ...family].join('\n')
}

function linesOf(sentence: string): string[] {
  const lines = ['#']
  for (const word of sentence.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last.length + word.length >= MAX_LINE_LENGTH) lines.push(`# ${word}`)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
