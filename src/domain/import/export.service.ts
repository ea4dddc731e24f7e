import type { Origin } from '../../model/caller.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import {
  countUsers,
  type ExportedKeyRow,
  type ExportedSecretRow,
  type ExportedUser,
  listExportedKeys,
  listExportedSecrets,
  listExportedUsers,
} from '../../storage/repositories/import/user-export.repository.ts'
import type { DomainParts } from '../changes/parts.ts'
import type { JsonObject } from './imported-user.ts'

export type Export = {
  /** Records that everything is exported, before any of it is. Returns the number of users. */
  begin(): Promise<number>
  /** The users in pages, in the format that an import reads. */
  pages(): AsyncGenerator<readonly JsonObject[]>
}

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'>

const PAGE_SIZE = 500

export function createExport({ reads, changes, now }: Parts, origin: Origin, withHashes: boolean): Export {
  async function readPage(afterId: number): Promise<{ readonly users: readonly JsonObject[]; readonly lastId: number } | undefined> {
    const users = await listExportedUsers(reads, afterId, PAGE_SIZE)
    const lastId = users.at(-1)?.id
    if (lastId === undefined) return undefined
    const keys = Map.groupBy(await listExportedKeys(reads, afterId, lastId), ({ user_id }) => user_id)
    const secrets = Map.groupBy(await listExportedSecrets(reads, afterId, lastId, now()), ({ key_id }) => key_id)
    const keysOf = (id: number) => (keys.get(id) ?? []).map((key) => keyObject(key, secrets.get(key.id) ?? [], withHashes))
    return { users: users.map((user) => userObject(user, keysOf(user.id), withHashes)), lastId }
  }

  return {
    async begin() {
      const count = await countUsers(reads)
      await changes.withoutCaller(origin, async (tx) => tx.record({ kind: 'data.exported', count }))
      return count
    },
    async *pages() {
      for (let page = await readPage(0); page !== undefined; page = await readPage(page.lastId)) yield page.users
    },
  }
}

function userObject(user: ExportedUser, keys: readonly JsonObject[], withHashes: boolean): JsonObject {
  const { id, email, firstName, lastName, role, verified, banned, createdAt, lastLoginAt, passwordHash } = user
  return {
    id,
    email,
    first_name: firstName,
    last_name: lastName,
    role,
    verified,
    banned,
    created_at: timeText(createdAt),
    ...(lastLoginAt !== undefined && { last_login_at: timeText(lastLoginAt) }),
    ...(withHashes && passwordHash !== NO_PASSWORD && { password_hash: passwordHash }),
    keys,
  }
}

function keyObject(key: ExportedKeyRow, secrets: readonly ExportedSecretRow[], withHashes: boolean): JsonObject {
  return {
    id: key.id,
    name: key.name,
    // The column holds a JSON list.
    scopes: JSON.parse(key.scopes) as unknown,
    access: key.access,
    is_active: Boolean(key.is_active),
    created_at: timeText(key.created_at),
    expires_at: key.expires_at === null ? null : timeText(key.expires_at),
    ...(key.prefix !== null && { prefix: key.prefix }),
    ...(key.last_used_at !== null && { last_used_at: timeText(key.last_used_at) }),
    ...(withHashes && { key_hash: key.key_hash }),
    ...(withHashes && secrets.length > 0 && { retiring_secrets: secrets.map(secretObject) }),
  }
}

function secretObject({ key_hash, retired_at, expires_at }: ExportedSecretRow): JsonObject {
  return { key_hash, retired_at: timeText(retired_at), expires_at: timeText(expires_at) }
}

function timeText(time: number): string {
  return new Date(time).toISOString()
}
