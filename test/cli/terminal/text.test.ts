import assert from 'node:assert/strict'
import { test } from 'node:test'
import { excerpt, padText, textWidth } from '../../../src/cli/terminal/output.ts'

test('the width of a text is the number of columns that a terminal uses for it', () => {
  const widths = {
    '': 0,
    Ünal: 4,
    // The same name with a combining diaeresis.
    'U\u0308nal': 4,
    田中太郎: 8,
    김철수: 6,
    // The same syllable in three parts.
    '\u1112\u1161\u11ab': 2,
    ｶﾀｶﾅ: 4,
    Ｌａｔｉｎ: 10,
    'a\u200bb': 2,
    '🔑': 2,
    '👩‍👩‍👧': 2,
    '🇩🇪': 2,
    '❤️': 2,
    '1': 1,
    '©': 1,
    नमस्ते: 4,
    𠮷: 2,
  }
  for (const [text, width] of Object.entries(widths)) assert.equal(textWidth(text), width, text)
})

test('cells with wide characters and combining marks are padded to the same width', () => {
  for (const text of ['田中', 'U\u0308mit', '🔑🔑', 'Mia']) assert.equal(textWidth(padText(text, 6)), 6)
  assert.equal(padText('田中太郎', 4), '田中太郎')
})

test('a long text is cut', () => {
  assert.equal(excerpt('x'.repeat(101)), `${'x'.repeat(100)}…`)
})
