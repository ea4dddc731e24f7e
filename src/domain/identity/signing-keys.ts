import type { Origin } from '../../model/caller.ts'
import type { SigningKey } from '../../model/signing-key.ts'
import { deriveKeys, type Secrets } from '../../security/derived-keys.ts'
import { createOfflineSigner, generateSigningKeyPair, type SignOffline } from '../../security/offline-token.ts'
import { createSealer } from '../../security/sealing.ts'
import type { Reads, Transaction } from '../../storage/database.ts'
import {
  deleteExpiredSigningKeys,
  insertSigningKey,
  listSigningKeys,
  resealSigningKey,
  retireOtherSigningKeys,
} from '../../storage/repositories/identity/signing-key.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { CLOCK_MARGIN_MS, chooseSigningKey, isPublished, PUBLISHED_BEFORE_MS, TOKEN_LIFETIME_SECONDS } from './signing-key-times.ts'

export type SigningKeys = {
  /** The function that signs now. Creates a key if none can sign. */
  signer(origin: Origin): Promise<SignOffline>
  /** The public parts of the published keys, as JSON. */
  published(): Promise<string[]>
  /** Publishes a new key, which replaces the current one as soon as no cache is without it. */
  rotate(origin: Origin): Promise<SigningKey>
  /** Creates the first key, encrypts with the current secret what a former one encrypted, and deletes keys that nobody needs. */
  maintain(origin: Origin): Promise<void>
}

export type SigningKeysParts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & { readonly secrets: Secrets }

export function createSigningKeys({ reads, changes, now, secrets }: SigningKeysParts): SigningKeys {
  const sealer = createSealer(deriveKeys(secrets, 'signing-keys'))
  // Opening a key costs more than signing with it. Null for a key that no secret opens.
  const signers = new Map<string, SignOffline | null>()

  function signerOf({ id, sealedPrivateKey }: SigningKey): SignOffline | null {
    const known = signers.get(sealedPrivateKey)
    if (known !== undefined) return known
    const opened = sealer.open(sealedPrivateKey, id)
    const signer = opened === undefined ? null : createOfflineSigner(id, opened.text)
    signers.set(sealedPrivateKey, signer)
    return signer
  }

  /** The key that signs now; undefined if there is none, or none that the secrets open. */
  function current(keys: readonly SigningKey[]): SigningKey | undefined {
    return chooseSigningKey(
      keys.filter((key) => signerOf(key) !== null),
      now(),
    )
  }

  async function add(tx: Transaction, delayMs: number): Promise<SigningKey> {
    const createdAt = now()
    const signsFrom = createdAt + delayMs
    const { id, publicJwk, privateKey } = generateSigningKeyPair()
    const key: SigningKey = {
      id,
      publicJwk,
      sealedPrivateKey: sealer.seal(privateKey, id),
      createdAt,
      signsFrom,
      publishedUntil: undefined,
    }
    await insertSigningKey(tx, key)
    // The others sign until this one does; then their last token still has its lifetime.
    await retireOtherSigningKeys(tx, id, signsFrom + TOKEN_LIFETIME_SECONDS.max * 1000 + CLOCK_MARGIN_MS)
    return key
  }

  /** Creates a key that signs at once, unless another process was first. */
  function create(origin: Origin): Promise<SigningKey> {
    return changes.withoutCaller(origin, async (tx) => {
      await tx.lock('signing-keys')
      return current(await listSigningKeys(tx)) ?? (await add(tx, 0))
    })
  }

  async function reseal(tx: Transaction, key: SigningKey): Promise<void> {
    const opened = sealer.open(key.sealedPrivateKey, key.id)
    if (opened !== undefined && !opened.isCurrent) await resealSigningKey(tx, key, sealer.seal(opened.text, key.id))
  }

  return {
    async signer(origin) {
      const signer = signerOf(current(await listSigningKeys(reads)) ?? (await create(origin)))
      if (signer === null) throw new Error('a signing key cannot be opened although it was opened a moment ago')
      return signer
    },
    async published() {
      return (await publishedSigningKeys(reads, now())).map(({ publicJwk }) => publicJwk)
    },
    rotate: (origin) =>
      changes.withoutCaller(origin, async (tx) => {
        await tx.lock('signing-keys')
        const isFirst = current(await listSigningKeys(tx)) === undefined
        if (!isFirst) tx.record({ kind: 'secret.rotated', changed: ['signing_key'] })
        return add(tx, isFirst ? 0 : PUBLISHED_BEFORE_MS)
      }),
    async maintain(origin) {
      if (current(await listSigningKeys(reads)) === undefined) await create(origin)
      await changes.withoutCaller(origin, async (tx) => {
        await deleteExpiredSigningKeys(tx, now())
        for (const key of await listSigningKeys(tx)) await reseal(tx, key)
      })
    },
  }
}

/** In the order in which they sign. This needs no secret. */
export async function publishedSigningKeys(reads: Reads, now: number): Promise<SigningKey[]> {
  return (await listSigningKeys(reads)).filter((key) => isPublished(key, now))
}
