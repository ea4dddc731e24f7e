import { randomUUID } from 'node:crypto'
import type { ApiKey, KeyAccess } from '../../model/api-key.ts'
import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateApiKey, hashApiKey } from '../../security/api-key-secret.ts'
import {
  type ApiKeyChanges,
  type ApiKeyPage,
  countApiKeys,
  deleteApiKey,
  findApiKey,
  insertApiKey,
  listApiKeysAfter,
  updateApiKey,
} from '../../storage/repositories/api-key.repository.ts'
import { findUserById } from '../../storage/repositories/user.repository.ts'
import { changedFields } from '../changed-fields.ts'
import type { DomainParts } from '../parts.ts'
import { requireReader } from './callers.ts'

export type NewApiKey = {
  readonly name: string
  readonly scopes: readonly string[]
  /** `full` if it is left out. */
  readonly access?: KeyAccess | undefined
  /** Without it, the key does not expire. */
  readonly expiresAt?: number | undefined
}

/** A key belongs to one user. For every other caller except admins it does not exist. */
export type ApiKeys = {
  /** The keys in order of creation, one page at a time, so that memory does not grow with their number. Refuses before the first page. */
  list(reader: Actor | Operator, userId: number): Promise<AsyncIterable<readonly ApiKey[]>>
  /** Returns the secret of the key, which is never shown again. */
  create(by: Actor | Operator, userId: number, key: NewApiKey): Promise<ApiKey & { readonly secret: string }>
  find(userId: number, keyId: string): Promise<ApiKey>
  edit(by: Actor | Operator, userId: number, keyId: string, changes: ApiKeyChanges): Promise<ApiKey>
  remove(by: Actor | Operator, userId: number, keyId: string): Promise<void>
}

export const MAX_KEYS = 1000
/** The number of characters of a key that are stored in clear text, so that people can recognise it. */
const PREFIX_LENGTH = 9
// A key may carry 20 KB of scopes, so a page is smaller than a page of users.
const LIST_PAGE_SIZE = 50

export function createApiKeys({ reads, changes, now }: Pick<DomainParts, 'reads' | 'changes' | 'now'>): ApiKeys {
  async function* pagesFrom({ caller }: Actor | Operator, userId: number, first: ApiKeyPage): AsyncIterable<readonly ApiKey[]> {
    for (let page = first; page.keys.length > 0; page = await listApiKeysAfter(reads, userId, page.last, LIST_PAGE_SIZE)) {
      yield page.keys
      if (page.keys.length < LIST_PAGE_SIZE) return
      if (caller !== 'operator') await requireReader(reads, caller, userId, now())
    }
  }

  return {
    async list(reader, userId) {
      const first = await listApiKeysAfter(reads, userId, 0, LIST_PAGE_SIZE)
      if (first.keys.length === 0 && (await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
      return pagesFrom(reader, userId, first)
    },
    async create(by, userId, { name, scopes, access = 'full', expiresAt }) {
      const secret = generateApiKey()
      const key: ApiKey = {
        id: randomUUID(),
        name,
        createdAt: now(),
        isActive: true,
        scopes,
        access,
        expiresAt,
        prefix: secret.slice(0, PREFIX_LENGTH),
        lastUsedAt: undefined,
        retiringUntil: undefined,
      }
      await changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if ((await countApiKeys(tx, userId)) >= MAX_KEYS) throw new Refusal('too_many_keys')
        await insertApiKey(tx, userId, key, hashApiKey(secret))
        tx.record({ kind: 'key.created', target: userId, keyId: key.id })
      })
      return { ...key, secret }
    },
    async find(userId, keyId) {
      const key = await findApiKey(reads, userId, keyId)
      if (key !== undefined) return key
      throw new Refusal((await findUserById(reads, userId)) === undefined ? 'user_not_found' : 'key_not_found')
    },
    edit: (by, userId, keyId, edit) =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        const key = await updateApiKey(tx, userId, keyId, edit)
        if (key === undefined) throw new Refusal('key_not_found')
        tx.record({ kind: 'key.changed', target: userId, keyId, changed: changedFields(edit) })
        return key
      }),
    remove: (by, userId, keyId) =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if (!(await deleteApiKey(tx, userId, keyId))) throw new Refusal('key_not_found')
        tx.record({ kind: 'key.revoked', target: userId, keyId })
      }),
  }
}
