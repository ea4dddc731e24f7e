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

export type SigningKeys = ReturnType<typeof createSigningKeys>

type SigningKeysParts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & { readonly secrets: Secrets }

export function createSigningKeys({ reads, changes, now, secrets }: SigningKeysParts) {
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
    const key: SigningKey = { id, publicJwk, sealedPrivateKey: sealer.seal(privateKey, id), createdAt, signsFrom }
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
    /** The function that signs now. Creates a key if none can sign. */
    async signer(origin: Origin): Promise<SignOffline> {
      const signer = signerOf(current(await listSigningKeys(reads)) ?? (await create(origin)))
      if (signer === null) throw new Error('a signing key cannot be opened although it was opened a moment ago')
      return signer
    },
    /** The public parts of the published keys, as JSON. */
    async published(): Promise<string[]> {
      return (await publishedSigningKeys(reads, now())).map(({ publicJwk }) => publicJwk)
    },
    /** Publishes a new key, which replaces the current one as soon as no cache is without it. */
    rotate: (origin: Origin) =>
      changes.withoutCaller(origin, async (tx) => {
        await tx.lock('signing-keys')
        const isFirst = current(await listSigningKeys(tx)) === undefined
        if (!isFirst) tx.record({ kind: 'secret.rotated', changed: ['signing_key'] })
        return add(tx, isFirst ? 0 : PUBLISHED_BEFORE_MS)
      }),
    /** Creates the first key, encrypts with the current secret what a former one encrypted, and deletes keys that nobody needs. */
    async maintain(origin: Origin): Promise<void> {
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
  return (await listSigningKeys(reads)).filter(({ publishedUntil = Number.POSITIVE_INFINITY }) => publishedUntil > now)
}

/** How long a token for other services may live. */
export const TOKEN_LIFETIME_SECONDS = { min: 60, max: 900, default: 300 } as const
/** How long caches may keep the set of public keys. */
export const KEY_SET_MAX_AGE_SECONDS = 300
/** For how long a new key is published before it signs: three times as long as a cache keeps the set without it. */
const PUBLISHED_BEFORE_MS = 3 * KEY_SET_MAX_AGE_SECONDS * 1000
/** By how much the clocks of two processes, or of a process and a verifier, may differ. */
const CLOCK_MARGIN_MS = 5 * 60_000

/**
 * The key that signs at a time, of those that can be opened. It is the latest whose time has come. A key that was retired signs only
 * tokens that expire while it is still published.
 */
function chooseSigningKey(keys: readonly SigningKey[], now: number): SigningKey | undefined {
  const lastExpiry = now + TOKEN_LIFETIME_SECONDS.max * 1000
  const usable = keys
    .filter(({ publishedUntil = lastExpiry }) => publishedUntil >= lastExpiry)
    .toSorted((one, other) => one.signsFrom - other.signsFrom)
  // Without one whose time has come, the clock of the process that created the first key is ahead of this one.
  return usable.findLast(({ signsFrom }) => signsFrom <= now) ?? usable[0]
}

/** A waiting key is published and does not sign yet; a retiring one has been replaced, or is about to be. */
export function signingKeyState({ signsFrom, publishedUntil }: SigningKey, now: number): 'waiting' | 'signing' | 'retiring' {
  if (signsFrom > now) return 'waiting'
  return publishedUntil === undefined ? 'signing' : 'retiring'
}
