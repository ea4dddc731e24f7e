import type { KeyRow, RetiringSecret } from '../../model/api-key.ts'
import type { Origin } from '../../model/caller.ts'
import type { UserRow } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import {
  countUsers,
  listExportedKeys,
  listExportedSecrets,
  listExportedUsers,
} from '../../storage/repositories/import/import.repository.ts'
import { type DomainParts, pagesOf } from '../changes/changes.ts'
import { type JsonObject, MOVED_KEY, MOVED_SECRET, MOVED_USER } from './imported-user.ts'

export type Export = ReturnType<typeof createExport>

type ExportOptions = { readonly withHashes: boolean }

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'>

const PAGE_SIZE = 500

export function createExport({ reads, changes, now }: Parts, origin: Origin, options: ExportOptions) {
  return {
    /** Records that everything is exported, before any of it is. Returns the number of users. */
    async begin(): Promise<number> {
      const count = await countUsers(reads)
      await changes.withoutCaller(origin, async (tx) => tx.record({ kind: 'data.exported', count }))
      return count
    },
    /** The users in pages, in the format that an import reads. */
    async *pages(): AsyncGenerator<readonly JsonObject[]> {
      let afterId = 0
      for await (const users of pagesOf(PAGE_SIZE, (lastId) => listExportedUsers(reads, lastId, PAGE_SIZE))) {
        const lastId = users.at(-1)?.id ?? afterId
        const keys = Map.groupBy(await listExportedKeys(reads, afterId, lastId), ({ userId }) => userId)
        const secrets = Map.groupBy(await listExportedSecrets(reads, afterId, lastId, now()), ({ keyId }) => keyId)
        const keysOf = (id: number) => (keys.get(id) ?? []).map((key) => keyObject(key, secrets.get(key.id) ?? [], options))
        yield users.map((user) => userObject(user, keysOf(user.id), options))
        afterId = lastId
      }
    },
  }
}

function userObject(user: UserRow, keys: readonly JsonObject[], { withHashes }: ExportOptions): JsonObject {
  const { passwordHash } = user
  return { ...given(MOVED_USER.toJson(user)), ...(withHashes && passwordHash !== NO_PASSWORD && { password_hash: passwordHash }), keys }
}

function keyObject(key: KeyRow, secrets: readonly RetiringSecret[], { withHashes }: ExportOptions): JsonObject {
  return {
    expires_at: null,
    ...given(MOVED_KEY.toJson(key)),
    ...(withHashes && { key_hash: key.keyHash }),
    ...(withHashes && secrets.length > 0 && { retiring_secrets: secrets.map(MOVED_SECRET.toJson) }),
  }
}

/** Without the fields that are unknown. */
function given(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
}
