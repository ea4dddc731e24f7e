import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameText, printable, printableJson } from '../../src/shared/text.ts'

test('characters that control a terminal or reorder its text are shown escaped, and all others as they are', () => {
  assert.equal(printable('a\u001b[2Jb\nc\u202ed'), 'a\\x1b[2Jb\\x0ac\\u202ed')
  assert.equal(printable('\u0000\t\r\u007f\u0085\u009b31m'), '\\x00\\x09\\x0d\\x7f\\x85\\x9b31m')
  assert.equal(printable('\u061c\u200e\u2028\u2066\ud800x\udc00\uffff'), '\\u061c\\u200e\\u2028\\u2066\\ud800x\\udc00\\uffff')
  assert.equal(printable('👩‍👩‍👧 Ünal'), '👩‍👩‍👧 Ünal')
})

test('JSON for a terminal has the same values', () => {
  const value = { text: 'a\u001b[2Jb\nc\u202ed\u009b31m\u007f\ud800 👩‍👩‍👧 \\ Ünal' }
  for (const indent of [undefined, 2]) {
    const json = printableJson(JSON.stringify(value, undefined, indent))
    assert.deepEqual(JSON.parse(json), value)
    assert.equal(printable(json.replaceAll('\n', '')), json.replaceAll('\n', ''))
  }
})

test('bytes of a file name that are not UTF-8 are shown one by one', () => {
  assert.equal(nameText(Buffer.from('grün 🔑')), 'grün 🔑')
  const broken = Buffer.concat([Buffer.from('ü🔑'), Buffer.from([0xff, 0xe2, 0x82]), Buffer.from('€.txt'), Buffer.from([0xc3])])
  assert.equal(nameText(broken), 'ü🔑\\xff\\xe2\\x82€.txt\\xc3')
})
