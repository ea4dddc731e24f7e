import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deriveKeys, fingerprints, type Secrets } from '../../src/security/derived-keys.ts'

const SECRETS: Secrets = [Buffer.from('current secret'), Buffer.from('former secret')]

test('keys are in the order of the secrets, and depend on the secret and the purpose alone', () => {
  const [current, former] = deriveKeys(SECRETS, 'signing-keys')
  assert.deepEqual([current.length, former?.length], [32, 32])
  assert.deepEqual(deriveKeys([SECRETS[0]], 'signing-keys'), [current])
  assert.deepEqual(deriveKeys([Buffer.from('former secret')], 'signing-keys'), [former])
  const all = [...deriveKeys(SECRETS, 'signing-keys'), ...deriveKeys(SECRETS, 'audit-seals'), ...deriveKeys(SECRETS, 'fingerprint')]
  assert.equal(new Set(all.map((key) => key.toString('hex'))).size, 6)
})

test('a fingerprint is stable, short, and contains neither the secret nor another key', () => {
  // A different result would make every running installation look as if it had a new secret.
  assert.deepEqual(fingerprints(SECRETS), ['fKTSVgBUfr6rAT_Fa91p2V', 'WjYBpK-iSFYQ_gwk6EFp1J'])
})
