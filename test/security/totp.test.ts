import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base32, codeAt, fromBase32, generateTotpSecret, stepOf, totpUri } from '../../src/security/totp.ts'

const SECRET = base32(Buffer.from('12345678901234567890'))

// RFC 6238, appendix B, SHA-1: seconds since 1970, and the code of eight digits.
const CODES = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
] as const

// RFC 4648, section 10, without padding.
const TEXTS = [
  ['', ''],
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foob', 'MZXW6YQ'],
  ['fooba', 'MZXW6YTB'],
  ['foobar', 'MZXW6YTBOI'],
] as const

test('codes are those of RFC 6238, as their last six digits', () => {
  for (const [seconds, code] of CODES) {
    assert.equal(codeAt(SECRET, Math.floor(seconds / 30)), code.slice(-6), String(seconds))
    assert.equal(stepOf(SECRET, code.slice(-6), seconds * 1000), Math.floor(seconds / 30))
  }
})

test('base32 is that of RFC 4648, in both directions', () => {
  for (const [text, encoded] of TEXTS) {
    assert.equal(base32(Buffer.from(text)), encoded)
    assert.equal(fromBase32(encoded).toString(), text)
  }
})

test('a code is accepted one step early or late, and not two', () => {
  const now = 1_111_111_111_000
  const present = Math.floor(now / 30_000)
  for (const step of [present - 1, present, present + 1]) assert.equal(stepOf(SECRET, codeAt(SECRET, step), now), step)
  for (const step of [present - 2, present + 2]) assert.equal(stepOf(SECRET, codeAt(SECRET, step), now), undefined)
  // Neither more digits, nor other characters of the same length, of which some have more bytes.
  for (const code of ['', '14050471', '50471', 'abcdef', '٠٥٠٤٧١', '05047é']) assert.equal(stepOf(SECRET, code, now), undefined, code)
})

test('a secret has 160 random bits, and its address names issuer and account', () => {
  const secret = generateTotpSecret()
  assert.equal(fromBase32(secret).length, 20)
  assert.notEqual(secret, generateTotpSecret())
  const uri = new URL(totpUri(secret, 'Notes & more', 'mia+1@example.com'))
  assert.equal(decodeURIComponent(uri.pathname), '/Notes & more:mia+1@example.com')
  assert.deepEqual(Object.fromEntries(uri.searchParams), { secret, issuer: 'Notes & more', algorithm: 'SHA1', digits: '6', period: '30' })
})
