import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const FOLDER = join(import.meta.dirname, '../../../../src/http/web/site/style')
const SHEETS = readdirSync(FOLDER).filter((name) => name.endsWith('.css'))

/** Everything that a page is drawn with. Colours have names in base.css. */
const VALUES: readonly (readonly [property: RegExp, values: string])[] = [
  [/^font-size$/, '0.75rem 0.8125rem 0.875rem 0.9375rem 1rem 1.3125rem 1.5rem'],
  [/^font-weight$/, '400 500 600'],
  [/^(padding|margin|gap)/, '0.125rem 0.25rem 0.375rem 0.5rem 0.75rem 1rem 1.25rem 1.5rem 2rem 2.5rem 3rem 0 auto'],
  [/^border-radius$/, 'var(--radius) 6px 12px 99px 50%'],
]
// The code for a camera, and text on the colour of a deletion.
const COLOURS_ELSEWHERE = ['#000', '#fff']

test('type, spacing, corners and colours come from one short list of values', () => {
  const others: string[] = []
  for (const sheet of SHEETS) {
    const css = readFileSync(join(FOLDER, sheet), 'utf8').replace(/\/\*.*?\*\//gs, '')
    for (const [, property = '', value = ''] of css.matchAll(/^\s*([a-z-]+): ([^;{]+);$/gm)) {
      const known = VALUES.find(([name]) => name.test(property))?.[1].split(' ')
      const isKnown = value.split(/\s+/).every((part) => known?.includes(part.replace(/^-/, '')))
      if (known !== undefined && !isKnown) others.push(`${sheet}: ${property}: ${value}`)
    }
    const colours = [...css.matchAll(/#[0-9a-f]{3,8}\b|\b(?:rgb|hsl)a?\(/g)].map(([colour]) => colour)
    if (sheet !== 'base.css') others.push(...colours.filter((colour) => !COLOURS_ELSEWHERE.includes(colour)))
  }
  assert.deepEqual(others, [])
})
