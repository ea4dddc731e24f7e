import { randomUUID } from 'node:crypto'
import type { ApiKey, ApiKeyChanges, KeyAccess } from '../../model/api-key.ts'
import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateApiKey, hashApiKey } from '../../security/api-key-secret.ts'
import type { Transaction } from '../../storage/database.ts'
import {
  type ApiKeyPage,
  countApiKeys,
  deleteApiKey,
  deleteOldestRetiringSecrets,
  deleteRetiringSecrets,
  disableApiKey,
  findApiKey,
  findKeyHash,
  insertApiKey,
  insertRetiringSecret,
  listApiKeysAfter,
  replaceSecret,
  type Secret,
  updateApiKey,
} from '../../storage/repositories/keys/key.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import { requireReader } from '../changes/callers.ts'
import { changedFields, type DomainParts } from '../changes/changes.ts'

export type NewApiKey = {
  readonly name: string
  readonly scopes: readonly string[]
  /** `full` if it is left out. */
  readonly access?: KeyAccess | undefined
  /** Without it, the key does not expire. */
  readonly expiresAt?: number | undefined
}

/** A key together with its secret, which is never shown again. */
export type KeyWithSecret = ApiKey & { readonly secret: string }

/** A key belongs to one user. For every other caller except admins it does not exist. */
export type ApiKeys = {
  /** The keys in order of creation, one page at a time, so that memory does not grow with their number. Refuses before the first page. */
  list(reader: Actor | Operator, userId: number): Promise<AsyncIterable<readonly ApiKey[]>>
  create(by: Actor | Operator, userId: number, key: NewApiKey): Promise<KeyWithSecret>
  find(userId: number, keyId: string): Promise<ApiKey>
  /** Disabling a key ends the secrets that rotations have replaced. */
  edit(by: Actor | Operator, userId: number, keyId: string, changes: ApiKeyChanges): Promise<ApiKey>
  /** Gives the key a new secret. Former secrets end now or, with an overlap, the current one works on until the overlap ends. */
  rotate(by: Actor | Operator, userId: number, keyId: string, overlapSeconds?: number): Promise<KeyWithSecret>
  /** Disables the key that makes the request. */
  revokeOwn(actor: Actor): Promise<void>
  remove(by: Actor | Operator, userId: number, keyId: string): Promise<void>
}

export const MAX_KEYS = 1000
// A key may carry 20 KB of scopes, so a page is smaller than a page of users.
const LIST_PAGE_SIZE = 50

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** The prefix of new secrets. */
  readonly keyPrefix: string
}

export function createApiKeys({ reads, changes, now, keyPrefix }: Parts): ApiKeys {
  async function* pagesFrom({ caller }: Actor | Operator, userId: number, first: ApiKeyPage): AsyncIterable<readonly ApiKey[]> {
    for (let page = first; page.keys.length > 0; page = await listApiKeysAfter(reads, userId, page.last, LIST_PAGE_SIZE)) {
      yield page.keys.map((key) => withCurrentRetirement(key, now()))
      if (page.keys.length < LIST_PAGE_SIZE) return
      if (caller !== 'operator') await requireReader(reads, caller, now(), userId)
    }
  }

  function requireFuture(expiresAt: number | null | undefined): void {
    if (hasExpired({ expiresAt: expiresAt ?? undefined }, now())) throw new Refusal('expiry_in_past')
  }

  return {
    async list(reader, userId) {
      const first = await listApiKeysAfter(reads, userId, 0, LIST_PAGE_SIZE)
      if (first.keys.length === 0 && (await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
      return pagesFrom(reader, userId, first)
    },
    async create(by, userId, { name, scopes, access = 'full', expiresAt }) {
      requireFuture(expiresAt)
      const { secret, hash, prefix } = createSecret(keyPrefix)
      const key: ApiKey = {
        id: randomUUID(),
        name,
        createdAt: now(),
        isActive: true,
        scopes,
        access,
        expiresAt,
        prefix,
        lastUsedAt: undefined,
        retiringUntil: undefined,
      }
      await changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if ((await countApiKeys(tx, userId)) >= MAX_KEYS) throw new Refusal('too_many_keys')
        await insertApiKey(tx, userId, key, hash)
        tx.record({ kind: 'key.created', target: userId, keyId: key.id })
      })
      return { ...key, secret }
    },
    async find(userId, keyId) {
      const key = await findApiKey(reads, userId, keyId)
      if (key !== undefined) return withCurrentRetirement(key, now())
      throw new Refusal((await findUserById(reads, userId)) === undefined ? 'user_not_found' : 'key_not_found')
    },
    async edit(by, userId, keyId, edit) {
      requireFuture(edit.expiresAt)
      return changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        const key = await findApiKey(tx, userId, keyId)
        if (key === undefined) throw new Refusal('key_not_found')
        // A key that is enabled or gets a later expiry comes back without its former secrets.
        if (edit.isActive === false || hasExpired(key, now())) await deleteRetiringSecrets(tx, keyId)
        const edited = await updateApiKey(tx, userId, keyId, edit)
        if (edited === undefined) throw new Refusal('key_not_found')
        tx.record({ kind: 'key.changed', target: userId, keyId, changed: changedFields(edit) })
        return withCurrentRetirement(edited, now())
      })
    },
    rotate: (by, userId, keyId, overlapSeconds = 0) =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        const { secret, ...rotated } = await rotateKey(tx, { userId, keyId, overlapSeconds, keyPrefix, now: now() })
        tx.record({ kind: 'key.rotated', target: userId, keyId })
        return { ...withCurrentRetirement(rotated, now()), secret }
      }),
    async revokeOwn(actor) {
      const { user, key } = actor.caller
      if (key === undefined) throw new Refusal('no_key')
      await changes.toAccount(actor, { userId: user.id, allowed: 'owner' }, async (tx) => {
        await deleteRetiringSecrets(tx, key.id)
        if (await disableApiKey(tx, key.id)) tx.record({ kind: 'key.revoked', target: user.id, keyId: key.id })
      })
    },
    remove: (by, userId, keyId) =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if (!(await deleteApiKey(tx, userId, keyId))) throw new Refusal('key_not_found')
        tx.record({ kind: 'key.revoked', target: userId, keyId })
      }),
  }
}

/** The maximum number of former secrets of one key that still work. A rotation beyond it ends the one that was replaced first. */
export const MAX_RETIRING_SECRETS = 20
/** How many characters of a key are stored in the clear, for people to recognise it. */
const PREFIX_LENGTH = 9

export function createSecret(keyPrefix: string): Secret & { readonly secret: string } {
  const secret = generateApiKey(keyPrefix)
  return { secret, hash: hashApiKey(secret), prefix: secret.slice(0, PREFIX_LENGTH) }
}

export function hasExpired({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

type Rotation = {
  readonly userId: number
  readonly keyId: string
  readonly overlapSeconds: number
  readonly keyPrefix: string
  readonly now: number
}

/** Replaces the secret of a key. The transaction must hold the lock of the account. */
export async function rotateKey(tx: Transaction, rotation: Rotation): Promise<ApiKey & { readonly secret: string }> {
  const { userId, keyId, overlapSeconds, keyPrefix, now } = rotation
  const key = await findApiKey(tx, userId, keyId)
  const formerHash = await findKeyHash(tx, userId, keyId)
  if (key === undefined || formerHash === undefined) throw new Refusal('key_not_found')
  const { secret, ...next } = createSecret(keyPrefix)
  await replaceSecret(tx, userId, keyId, next)
  if (overlapSeconds > 0 && key.isActive && !hasExpired(key, now)) {
    await insertRetiringSecret(tx, { keyHash: formerHash, keyId, retiredAt: now, expiresAt: now + overlapSeconds * 1000 })
    await deleteOldestRetiringSecrets(tx, keyId, MAX_RETIRING_SECRETS)
  } else {
    await deleteRetiringSecrets(tx, keyId)
  }
  const rotated = await findApiKey(tx, userId, keyId)
  if (rotated === undefined) throw new Refusal('key_not_found')
  return { ...rotated, secret }
}

/** The key with the moment at which its last former secret really ends: a secret does not outlive its key, and some have ended already. */
export function withCurrentRetirement(key: ApiKey, now: number): ApiKey {
  const { retiringUntil, expiresAt, isActive } = key
  if (retiringUntil === undefined) return key
  const endsAt = Math.min(retiringUntil, expiresAt ?? retiringUntil)
  return { ...key, retiringUntil: isActive && endsAt > now ? endsAt : undefined }
}
