import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deriveKeys } from '../../src/security/derived-keys.ts'
import { createSealer } from '../../src/security/sealing.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const [ONE, OTHER] = [encode('one secret of the service 5tGz'), encode('another secret of the service 9')]

test('what is sealed opens with the same secret and label, as it was', () => {
  const sealer = createSealer(deriveKeys([ONE], 'signing-keys'))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, label) => {
      assert.deepEqual(sealer.open(sealer.seal(text, label), label), { text, isCurrent: true })
    }),
  )
  assert.notEqual(sealer.seal('a', 'b'), sealer.seal('a', 'b'))
})

test('a former secret opens it, and says that it is to be sealed again', () => {
  const sealed = createSealer(deriveKeys([ONE], 'signing-keys')).seal('text', 'label')
  assert.deepEqual(createSealer(deriveKeys([OTHER, ONE], 'signing-keys')).open(sealed, 'label'), { text: 'text', isCurrent: false })
  assert.equal(createSealer(deriveKeys([OTHER], 'signing-keys')).open(sealed, 'label'), undefined)
})

test('changed text does not open, and no text makes it throw', () => {
  const sealer = createSealer(deriveKeys([ONE], 'signing-keys'))
  const sealed = sealer.seal('text', 'label')
  const bytes = Buffer.from(sealed.slice(3), 'base64url')
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes)
    changed[index] = (changed[index] ?? 0) ^ 1
    assert.equal(sealer.open(`v1.${changed.toString('base64url')}`, 'label'), undefined)
  }
  fc.assert(fc.property(fc.string(), (text) => assert.equal(sealer.open(text, 'label') ?? sealer.open(`v1.${text}`, 'label'), undefined)))
})
