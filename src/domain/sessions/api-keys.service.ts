import { randomUUID } from 'node:crypto'
import type { ApiKey } from '../../model/api-key.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateApiKey, hashApiKey } from '../../security/api-key-secret.ts'
import { type Database, MissingReference } from '../../storage/database.ts'
import {
  type ApiKeyChanges,
  type ApiKeyPage,
  deleteApiKey,
  findApiKey,
  insertApiKey,
  listApiKeysAfter,
  updateApiKey,
} from '../../storage/repositories/api-key.repository.ts'
import { findUserById } from '../../storage/repositories/user.repository.ts'

export type NewApiKey = { readonly name: string; readonly scopes: readonly string[] }

/** A key belongs to one user. To everybody else it does not exist. */
export type ApiKeys = {
  /** In order of creation, a page at a time: memory does not grow with their number. Refuses before the first page. */
  list(userId: number): Promise<AsyncIterable<readonly ApiKey[]>>
  /** The only time that the secret of the key is seen. */
  create(userId: number, key: NewApiKey): Promise<ApiKey & { readonly secret: string }>
  find(userId: number, keyId: string): Promise<ApiKey>
  edit(userId: number, keyId: string, changes: ApiKeyChanges): Promise<ApiKey>
  remove(userId: number, keyId: string): Promise<void>
}

// A key may carry 20 KB of scopes, so that a page is smaller than one of users.
const LIST_PAGE_SIZE = 50

type Parts = { readonly db: Database; readonly now: () => number }

export function createApiKeys({ db, now }: Parts): ApiKeys {
  /** Whoever names a user who does not exist is told that, rather than that the key does not. */
  async function notFound(userId: number): Promise<Refusal> {
    return new Refusal((await findUserById(db, userId)) === undefined ? 'user_not_found' : 'key_not_found')
  }

  async function* pagesFrom(userId: number, first: ApiKeyPage): AsyncIterable<readonly ApiKey[]> {
    for (let page = first; page.keys.length > 0; page = await listApiKeysAfter(db, userId, page.last, LIST_PAGE_SIZE)) {
      yield page.keys
      if (page.keys.length < LIST_PAGE_SIZE) return
    }
  }

  return {
    async list(userId) {
      const first = await listApiKeysAfter(db, userId, 0, LIST_PAGE_SIZE)
      if (first.keys.length === 0 && (await findUserById(db, userId)) === undefined) throw new Refusal('user_not_found')
      return pagesFrom(userId, first)
    },
    async create(userId, { name, scopes }) {
      const secret = generateApiKey()
      const key: ApiKey = { id: randomUUID(), name, createdAt: now(), isActive: true, scopes }
      try {
        await insertApiKey(db, userId, key, hashApiKey(secret))
      } catch (error) {
        if (error instanceof MissingReference) throw new Refusal('user_not_found', 'deleted meanwhile', { cause: error })
        throw error
      }
      return { ...key, secret }
    },
    async find(userId, keyId) {
      const key = await findApiKey(db, userId, keyId)
      if (key === undefined) throw await notFound(userId)
      return key
    },
    async edit(userId, keyId, changes) {
      const key = await updateApiKey(db, userId, keyId, changes)
      if (key === undefined) throw await notFound(userId)
      return key
    },
    async remove(userId, keyId) {
      if (!(await deleteApiKey(db, userId, keyId))) throw await notFound(userId)
    },
  }
}
