import type { Transaction } from '../../../src/storage/database.ts'
import { replaceRecoveryCodes, saveTotpSecret, turnTotpOn } from '../../../src/storage/repositories/sign-in/factor.repository.ts'
import { insertIdentity, markUnproven } from '../../../src/storage/repositories/sign-in/identity.repository.ts'
import { countPasskeys, insertPasskey } from '../../../src/storage/repositories/sign-in/passkey.repository.ts'

/** Gives an account a row in each table of second factors, an account at a provider, and the mark of an account that somebody else may have registered. */
export async function addFactors(tx: Transaction, userId: number, sealedWith = 'fingerprint'): Promise<void> {
  await saveTotpSecret(tx, { userId, secret: 'v1.sealed', sealedWith, createdAt: 1, confirmedAt: 2, lastStep: 3, salt: '' })
  await replaceRecoveryCodes(tx, userId, 'salt', [`hash-${userId}`])
  await turnTotpOn(tx, userId)
  const passkey = { id: `passkey-${userId}`, credentialId: `credential-${userId}`, publicKey: 'key', counter: 5, transports: ['usb'] }
  await insertPasskey(tx, { ...passkey, userId, name: 'Schlüssel', backedUp: true, createdAt: 4, lastUsedAt: 6 })
  await countPasskeys(tx, userId)
  const identity = { provider: 'acme', issuer: 'https://login.acme.example', subject: `Ä-${userId}`, email: 'mia@acme.example' }
  await insertIdentity(tx, { ...identity, userId, connectedAt: 7 })
  await markUnproven(tx, userId)
}
