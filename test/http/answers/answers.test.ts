import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANSWERS, type Answer } from '../../../src/http/answers/answers.ts'

const TABLE: readonly (readonly [string, Answer])[] = Object.entries(ANSWERS)
/** Refusals with the response of another error. A client must not learn from a link whether an address is already verified. */
const SHARED: Readonly<Record<string, string>> = {
  already_verified: 'token_invalid',
  expiry_in_past: 'invalid_request',
  limited: 'too_many_requests',
  unknown_plan: 'invalid_request',
  unknown_scope: 'invalid_request',
  second_step: 'second_factor_required',
  code_refused: 'invalid_code',
  passkey_refused: 'invalid_passkey',
}

/** The detail of an error. A list of validation issues, whatever they are, is the detail of a 422 alone. */
function detailOf({ detail }: Answer): string {
  return typeof detail === 'string' ? detail : 'a list'
}

test('every error has one code for each detail, and one detail and status for each code', () => {
  // In a login, some have the status of a login that failed.
  const own = TABLE.filter(([key]) => SHARED[key] === undefined)
  const pairs = new Set(own.map(([, answer]) => [answer.code, answer.status, detailOf(answer)].join()))
  assert.equal(new Set(TABLE.map(([, { code }]) => code)).size, pairs.size)
  assert.equal(new Set(TABLE.map(([, answer]) => detailOf(answer))).size, pairs.size)
})

test('every code is lower-case words joined by underscores, is the key of its row, and is in the headers', () => {
  for (const [key, { code, headers }] of TABLE) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.equal(code, SHARED[key] ?? key)
    assert.equal(headers['x-error-code'], code)
  }
})
