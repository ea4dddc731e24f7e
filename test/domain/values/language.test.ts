import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_LANGUAGES, preferredLanguage } from '../../../src/model/language.ts'

const CASES: readonly (readonly [header: string | undefined, expected: string])[] = [
  [undefined, 'en'],
  ['', 'en'],
  ['de', 'de'],
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['DE-ch', 'de'],
  ['pt-BR,fr;q=0.7,en;q=0.3', 'fr'],
  ['en;q=0.5, es;q=0.9', 'es'],
  ['fr;q=0, de;q=0.1', 'de'],
  ['it,pt', 'en'],
  ['*', 'en'],
  ['*;q=0.9,de;q=0.1', 'en'],
  ['de;q=x,fr', 'fr'],
  ['zh-Hant-TW, es-419;q=0.9', 'es'],
  [`${'x,'.repeat(300)}de`, 'en'],
]

for (const [header, expected] of CASES) {
  test(`the language for ${JSON.stringify(header?.slice(0, 30))} is ${expected}`, () => {
    assert.equal(preferredLanguage(header, ALL_LANGUAGES), expected)
  })
}

test('only the languages of the settings are chosen, and the first is for everybody else', () => {
  assert.equal(preferredLanguage('es,fr;q=0.5', ['de', 'fr']), 'fr')
  assert.equal(preferredLanguage('es', ['de', 'fr']), 'de')
})
