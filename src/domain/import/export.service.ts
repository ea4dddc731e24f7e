import type { KeyRow, RetiringSecret } from '../../model/api-key.ts'
import type { Origin } from '../../model/caller.ts'
import type { JsonObject } from '../../model/entity.ts'
import type { TotpSecret } from '../../model/factor.ts'
import type { ExportedIdentity } from '../../model/provider.ts'
import type { UserRow } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import type { TotpSealer } from '../../security/totp.ts'
import { COMMAND } from '../../shared/program.ts'
import { listExportedFactors, listExportedIdentities } from '../../storage/repositories/import/factor-import.repository.ts'
import {
  countUsers,
  listExportedKeys,
  listExportedSecrets,
  listExportedUsers,
} from '../../storage/repositories/import/import.repository.ts'
import { listUserData } from '../../storage/repositories/users/user-data.repository.ts'
import { type DomainParts, pagesOf } from '../changes/changes.ts'
import { MOVED_IDENTITY, MOVED_KEY, MOVED_PASSKEY, MOVED_SECRET, MOVED_TOTP, MOVED_USER } from './imported-user.ts'

export type Export = ReturnType<typeof createExport>

type ExportOptions = { readonly withHashes: boolean }

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** Read for second factors only, because it needs SECRET_KEY. */
  readonly totpSealer: TotpSealer
}

/** An export without the codes of an account would leave it without its second factor, so that it ends. */
class SealedSecret extends Error {
  override readonly name = 'SealedSecret'

  constructor({ id, email }: UserRow) {
    super(
      `no secret opens the codes of user ${id} (${email}): add the former SECRET_KEY to SECRET_KEY_FALLBACKS, or use: ${COMMAND} user reset-second-factor ${id}`,
    )
  }
}

const PAGE_SIZE = 500

export function createExport(parts: Parts, origin: Origin, options: ExportOptions) {
  const { reads, changes, now } = parts

  /** Returns a function that adds what these users have besides their passwords. */
  async function factorsBetween(afterId: number, lastId: number): Promise<(user: UserRow) => JsonObject> {
    const { totp, codes, passkeys } = await listExportedFactors(reads, afterId, lastId)
    return (user) => {
      const sealed = totp.get(user.id)
      const owned = passkeys.get(user.id) ?? []
      return {
        // One that was not confirmed lapses within minutes.
        ...(sealed?.confirmedAt !== undefined && { totp: totpObject(user, sealed, codes.get(user.id) ?? []) }),
        ...(owned.length > 0 && { passkeys: owned.map((passkey) => given(MOVED_PASSKEY.toJson(passkey))) }),
      }
    }
  }

  function totpObject(user: UserRow, sealed: TotpSecret, codes: readonly { readonly codeHash: string }[]): JsonObject {
    const secret = parts.totpSealer.open(sealed)
    if (secret === undefined) throw new SealedSecret(user)
    return given(MOVED_TOTP.toJson({ ...sealed, secret, recoveryCodes: codes.map(({ codeHash }) => codeHash) }))
  }

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
        const factorsOf = options.withHashes ? await factorsBetween(afterId, lastId) : () => ({})
        const identities = Map.groupBy(await listExportedIdentities(reads, afterId, lastId), ({ userId }) => userId)
        const providersOf = ({ id }: UserRow) => {
          const owned = identities.get(id) ?? []
          return owned.length === 0 ? {} : { providers: owned.map((identity) => identityObject(identity)) }
        }
        const data = new Map((await listUserData(reads, afterId, lastId)).map(({ userId, ...objects }) => [userId, { data: objects }]))
        yield users.map((user) => ({
          ...userObject(user, keysOf(user.id), options),
          ...factorsOf(user),
          ...providersOf(user),
          ...data.get(user.id),
        }))
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

function identityObject({ email, ...identity }: ExportedIdentity): JsonObject {
  // A provider may have named no address.
  const { email: address, ...others } = MOVED_IDENTITY.toJson({ email, ...identity })
  return given({ ...others, email: address === '' ? null : address })
}

/** Without the fields that are unknown. */
function given(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
}
