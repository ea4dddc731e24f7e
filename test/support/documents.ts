import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Reads a file of the repository. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Returns the cells of each row of the first table under a heading. */
export function rows(document: string, heading: string): string[][] {
  const section = read(document).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

/** Compares the rows of a table with those of the code. `npm run docs` writes them. */
export function listsExactly(document: string, heading: string, expected: readonly string[]): void {
  const text = read(document)
  const place = text.indexOf(`\n## ${heading}\n`)
  assert.ok(place >= 0, `${heading} is missing`)
  const lines = text.slice(place).split('\n')
  const first = lines.findIndex((line) => line.startsWith('|---')) + 1
  const count = lines.slice(first).findIndex((line) => !line.startsWith('|'))
  if (process.env['UPDATE_DOCS'] === 'true')
    writeFileSync(join(ROOT, document), text.slice(0, place) + lines.toSpliced(first, count, ...expected).join('\n'))
  else assert.deepEqual(lines.slice(first, first + count), expected, `${document}, ${heading}: run \`npm run docs\` to write it again`)
}
