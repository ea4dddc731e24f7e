import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANSWERS, type Answer } from '../../../src/http/answers/answers.ts'

const TABLE: readonly (readonly [string, Answer])[] = Object.entries(ANSWERS)

test('every error has one code for each detail, and one detail and status for each code', () => {
  const pairs = new Set(TABLE.map(([, { code, status, detail }]) => JSON.stringify([code, status, detail])))
  assert.equal(new Set(TABLE.map(([, { code }]) => code)).size, pairs.size)
  assert.equal(new Set(TABLE.map(([, { detail }]) => JSON.stringify(detail))).size, pairs.size)
})

test('every code is lower-case words joined by underscores, is the key of its row, and is in the headers', () => {
  for (const [key, { code, headers }] of TABLE) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    // A client must not learn from a link whether an address is already verified.
    assert.equal(code, key === 'already_verified' ? 'token_invalid' : key)
    assert.equal(headers['x-error-code'], code)
  }
})
