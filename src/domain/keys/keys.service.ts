import type { ApiKey, ApiKeyChanges, KeyAccess } from '../../model/api-key.ts'
import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateApiKey, hashApiKey } from '../../security/api-key-secret.ts'
import { createId } from '../../shared/ids.ts'
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
import { changedFields, changeOwn, type DomainParts } from '../changes/changes.ts'
import { areKnownScopes } from '../values/limits.ts'

/** The access is `full` if it is left out. */
export type NewApiKey = Pick<ApiKey, 'name' | 'scopes' | 'expiresAt' | 'limit'> & { readonly access?: KeyAccess | undefined }

/** A key together with its secret, which is never shown again. */
export type KeyWithSecret = ApiKey & { readonly secret: string }

export type ApiKeys = ReturnType<typeof createApiKeys>

export const MAX_KEYS = 1000
// A key may carry 20 KB of scopes, so a page is smaller than a page of users.
const LIST_PAGE_SIZE = 50

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** The prefix of new secrets. */
  readonly keyPrefix: string
  /** The scopes that new keys may have; without it, any. */
  readonly keyScopes?: readonly string[] | undefined
}

/** A key belongs to one user. For every other caller except admins it does not exist. */
export function createApiKeys({ reads, changes, now, keyPrefix, keyScopes }: Parts) {
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
    /** The keys in order of creation, one page at a time, so that memory does not grow with their number. Refuses before the first page. */
    async list(reader: Actor | Operator, userId: number): Promise<AsyncIterable<readonly ApiKey[]>> {
      const first = await listApiKeysAfter(reads, userId, 0, LIST_PAGE_SIZE)
      if (first.keys.length === 0 && (await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
      return pagesFrom(reader, userId, first)
    },
    async create(by: Actor | Operator, userId: number, given: NewApiKey): Promise<KeyWithSecret> {
      const { name, scopes, access = 'full', expiresAt, limit } = given
      requireFuture(expiresAt)
      if (!areKnownScopes(scopes, keyScopes)) throw new Refusal('unknown_scope')
      const { secret, hash, prefix } = createSecret(keyPrefix)
      const createdAt = now()
      const key: ApiKey = { id: createId(createdAt), name, createdAt, isActive: true, scopes, access, expiresAt, limit, prefix }
      await changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if ((await countApiKeys(tx, userId)) >= MAX_KEYS) throw new Refusal('too_many_keys')
        await insertApiKey(tx, userId, key, hash)
        tx.record({ kind: 'key.created', target: userId, keyId: key.id })
      })
      return { ...key, secret }
    },
    async find(userId: number, keyId: string): Promise<ApiKey> {
      const key = await findApiKey(reads, userId, keyId)
      if (key !== undefined) return withCurrentRetirement(key, now())
      throw new Refusal((await findUserById(reads, userId)) === undefined ? 'user_not_found' : 'key_not_found')
    },
    /** Disabling a key ends the secrets that rotations have replaced. */
    async edit(by: Actor | Operator, userId: number, keyId: string, edit: ApiKeyChanges): Promise<ApiKey> {
      requireFuture(edit.expiresAt)
      return changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        const key = found(await findApiKey(tx, userId, keyId))
        // A key that is enabled or gets a later expiry comes back without its former secrets.
        if (edit.isActive === false || hasExpired(key, now())) await deleteRetiringSecrets(tx, keyId)
        const edited = found(await updateApiKey(tx, userId, keyId, edit))
        tx.record({ kind: 'key.changed', target: userId, keyId, changed: changedFields(edit) })
        return withCurrentRetirement(edited, now())
      })
    },
    /** Gives the key a new secret. Former secrets end now or, with an overlap, the current one works on until the overlap ends. */
    rotate: (by: Actor | Operator, userId: number, keyId: string, overlapSeconds = 0): Promise<KeyWithSecret> =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        const key = found(await findApiKey(tx, userId, keyId))
        const keyHash = found(await findKeyHash(tx, userId, keyId))
        const { secret, ...next } = createSecret(keyPrefix)
        await replaceSecret(tx, userId, keyId, next)
        const retiredAt = now()
        if (overlapSeconds > 0 && key.isActive && !hasExpired(key, retiredAt)) {
          await insertRetiringSecret(tx, { keyHash, keyId, retiredAt, expiresAt: retiredAt + overlapSeconds * 1000 })
          await deleteOldestRetiringSecrets(tx, keyId, MAX_RETIRING_SECRETS)
        } else {
          await deleteRetiringSecrets(tx, keyId)
        }
        tx.record({ kind: 'key.rotated', target: userId, keyId })
        return { ...withCurrentRetirement(found(await findApiKey(tx, userId, keyId)), retiredAt), secret }
      }),
    /** Disables the key that makes the request. */
    async revokeOwn(actor: Actor): Promise<void> {
      const { user, key } = actor.caller
      if (key === undefined) throw new Refusal('no_key')
      await changeOwn(changes, actor, async (tx) => {
        await deleteRetiringSecrets(tx, key.id)
        if (await disableApiKey(tx, key.id)) tx.record({ kind: 'key.revoked', target: user.id, keyId: key.id })
      })
    },
    remove: (by: Actor | Operator, userId: number, keyId: string): Promise<void> =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if (!(await deleteApiKey(tx, userId, keyId))) throw new Refusal('key_not_found')
        tx.record({ kind: 'key.revoked', target: userId, keyId })
      }),
  }
}

/** The maximum number of former secrets of one key that still work. A rotation beyond it ends the one that was replaced first. */
export const MAX_RETIRING_SECRETS = 20
/** How many characters of a key are kept to recognise it by. */
export const PREFIX_LENGTH = 9

/** A search term in which a whole key, or most of one, is cut to its beginning: a search compares no more, and lists show it. */
export function withoutSecrets(term: string): string {
  return term.replace(/[a-z0-9]{2,16}_[\w-]{40,}/g, (key) => key.slice(0, PREFIX_LENGTH))
}

function createSecret(keyPrefix: string): Secret & { readonly secret: string } {
  const secret = generateApiKey(keyPrefix)
  return { secret, hash: hashApiKey(secret), prefix: secret.slice(0, PREFIX_LENGTH) }
}

function found<Found>(key: Found | undefined): Found {
  if (key === undefined) throw new Refusal('key_not_found')
  return key
}

export function hasExpired({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

/** The key with the moment at which its last former secret really ends: a secret does not outlive its key, and some have ended already. */
function withCurrentRetirement(key: ApiKey, now: number): ApiKey {
  const { retiringUntil, expiresAt, isActive } = key
  if (retiringUntil === undefined) return key
  const endsAt = Math.min(retiringUntil, expiresAt ?? retiringUntil)
  return { ...key, retiringUntil: isActive && endsAt > now ? endsAt : undefined }
}
