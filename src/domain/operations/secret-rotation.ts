import type { Operator } from '../../model/caller.ts'
import { fingerprints, type Secrets } from '../../security/derived-keys.ts'
import { generateSecretKey, MAX_FORMER_SECRETS, readKeptSecrets, replaceKeptSecret } from '../../security/secret-key.ts'
import { findLastSecretUse, recordSecretUse } from '../../storage/repositories/operations/secret-use.repository.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { FORMER_SECRET_NEEDED_MS } from './secret-use.ts'

export type SecretRotation =
  | { readonly isDone: true; readonly formerSecrets: number }
  /** Every former secret may still have valid tokens, the oldest until then. */
  | { readonly isDone: false; readonly possibleFrom: number }

/**
 * Replaces the kept secret by a new one. The transaction makes parallel calls wait for each other, and the former secret is kept before
 * the new one exists: a crash at any moment leaves files with which every token stays valid.
 */
export function rotateKeptSecret(
  { changes, now }: Pick<DomainParts, 'changes' | 'now'>,
  { origin }: Operator,
  file: string,
): Promise<SecretRotation | undefined> {
  return changes.withoutCaller(origin, async (tx) => {
    const secrets = readKeptSecrets(file)
    if (secrets === undefined) return undefined
    const { needed, firstEnd } = await neededFallbacks(tx, secrets, now())
    if (needed.length >= MAX_FORMER_SECRETS) return { isDone: false, possibleFrom: firstEnd }
    const next = new TextEncoder().encode(generateSecretKey())
    // A service of an earlier version has not recorded its use. The new secret is recorded too: its first start is not another rotation.
    for (const fingerprint of fingerprints([secrets[0], next])) await recordSecretUse(tx, fingerprint, now())
    tx.record({ kind: 'secret.rotated' })
    const formers = [secrets[0], ...needed]
    replaceKeptSecret(file, next, formers)
    return { isDone: true, formerSecrets: formers.length }
  })
}

/** The fallbacks whose tokens may still be valid. One that was never recorded is kept: it may have signed before records began. */
async function neededFallbacks(tx: ChangeTransaction, secrets: Secrets, now: number) {
  const [, ...fallbacks] = secrets
  const [, ...names] = fingerprints(secrets)
  const lastUses = await Promise.all(names.map((fingerprint) => findLastSecretUse(tx, fingerprint)))
  const ends = lastUses.map((lastUse) => (lastUse ?? now) + FORMER_SECRET_NEEDED_MS)
  return { needed: fallbacks.filter((_, index) => (ends[index] ?? now) > now), firstEnd: Math.min(...ends) }
}
