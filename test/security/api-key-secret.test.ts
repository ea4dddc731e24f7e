import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findApiKeys, generateApiKey, hideApiKeys, isWellFormedApiKey } from '../../src/security/api-key-secret.ts'

const prefix = fc.stringMatching(/^[a-z0-9]{2,16}$/)

test('a key with any prefix of 2 to 16 characters is well formed, and the checksum covers the prefix', () => {
  fc.assert(
    fc.property(prefix, prefix, (one, other) => {
      const key = generateApiKey(one)
      assert.ok(isWellFormedApiKey(key) && key.startsWith(`${one}_`))
      assert.equal(isWellFormedApiKey(key.replace(one, other)), one === other)
    }),
  )
})

test('a key of the first version is well formed', () => {
  assert.ok(isWellFormedApiKey('lk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4Bow7x'))
})

test('a key with a wrong prefix, length or character is not well formed', () => {
  const key = generateApiKey('lk')
  const rest = key.slice(2)
  for (const other of ['', 'l', 'LK', 'l-', 'é1', 'a'.repeat(17)]) assert.ok(!isWellFormedApiKey(other + rest), other)
  for (const wrong of ['', key.slice(1), key.slice(0, -1), `${key}a`, ` ${key}`, `${key}\n`]) assert.ok(!isWellFormedApiKey(wrong))
})

test('keys are found and hidden in any text, whatever stands beside them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '_', '-', 'lk', '9', ' ', '"', 'é', '\n'), maxLength: 30 })
  fc.assert(
    fc.property(prefix, text, text, text, (name, before, between, after) => {
      const keys = [generateApiKey(name), generateApiKey(name)]
      const whole = before + keys[0] + between + keys[1] + after
      assert.deepEqual(findApiKeys(whole), keys)
      assert.equal(hideApiKeys(whole), `${before}${name}_…${between}${name}_…${after}`)
    }),
  )
})
