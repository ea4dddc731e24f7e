import { randomUUID } from 'node:crypto'
import type { ApiKey, ApiKeyChanges, KeyAccess } from '../../model/api-key.ts'
import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import {
  type ApiKeyPage,
  countApiKeys,
  deleteApiKey,
  deleteRetiringSecrets,
  disableApiKey,
  findApiKey,
  insertApiKey,
  listApiKeysAfter,
  updateApiKey,
} from '../../storage/repositories/keys/key.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import { requireReader } from '../changes/callers.ts'
import { changedFields } from '../changes/changed-fields.ts'
import type { DomainParts } from '../changes/parts.ts'
import { createSecret, hasExpired, rotateKey, withCurrentRetirement } from './key-rotation.ts'

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
