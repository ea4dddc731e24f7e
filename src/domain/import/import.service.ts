import type { Origin } from '../../model/caller.ts'
import { snakeCase } from '../../model/entity.ts'
import type { Change } from '../../model/event.ts'
import { NO_DATA } from '../../model/user.ts'
import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import { decideKinds } from '../../security/foreign/login-work.ts'
import { createMeasurements } from '../../security/foreign/measure.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import type { TotpSealer } from '../../security/totp.ts'
import {
  insertImportedIdentities,
  insertImportedPasskeys,
  listIdentityOwners,
  listTotpSecrets,
  markImportedUnproven,
  saveImportedCodes,
} from '../../storage/repositories/import/factor-import.repository.ts'
import {
  continueIds,
  expectManyRows,
  type FoundUser,
  findKeyOwners,
  findUsersByEmail,
  type GivenUser,
  hasUsers,
  insertKeys,
  insertUsers,
  listForeignKinds,
  lockUserStates,
  UPDATED_FIELDS,
  type UserState,
  updateUsers,
} from '../../storage/repositories/import/import.repository.ts'
import { endLoginChallenges } from '../../storage/repositories/sign-in/factor.repository.ts'
import { NO_FACTORS } from '../../storage/repositories/users/user.repository.ts'
import { findUserData, saveUserData } from '../../storage/repositories/users/user-data.repository.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { type DataChange, dataChanges, replaced } from '../users/user-data.service.ts'
import { type ImportedTotp, type ImportedUser, NO_NAME } from './imported-user.ts'

/** What happens to a user whose address has an account already. */
export type OnConflict = 'skip' | 'fail' | 'update'

export type ImportOptions = {
  readonly onConflict: OnConflict
  readonly keepIds: boolean
  /** The caller rolls everything back. */
  readonly isRehearsal?: boolean
}

type Rejection = { readonly user: ImportedUser; readonly reason: string }

export type BatchOutcome = {
  readonly created: readonly ImportedUser[]
  readonly updated: readonly ImportedUser[]
  readonly skipped: readonly ImportedUser[]
  readonly rejected: readonly Rejection[]
}

export type Import = ReturnType<typeof createImport>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** Read for a file with second factors only, because it needs SECRET_KEY. */
  readonly totpSealer: TotpSealer
}

type UserIds = ReadonlyMap<ImportedUser, number>
type Reject = (user: ImportedUser, reason: string) => void

// New ids continue after the highest one, and JavaScript is exact up to 9 * 10^15.
const MAX_KEPT_ID = 10 ** 15

export function createImport(parts: Parts, origin: Origin, options: ImportOptions) {
  const { reads, changes, now } = parts
  const { onConflict, keepIds, isRehearsal = false } = options
  // PostgreSQL does not take generated ids back when a transaction is rolled back, so a rehearsal brings its own, which no account has.
  const isNumbered = isRehearsal && !keepIds
  let lastRehearsedId = 0

  async function writeBatch(tx: ChangeTransaction, users: readonly ImportedUser[]): Promise<BatchOutcome> {
    const rejected: Rejection[] = []
    const reject = (user: ImportedUser, reason: string) => void rejected.push({ user, reason })
    const withOwnKeys = await withoutForeignKeys(tx, keepIds ? withIds(users, reject) : users, reject)
    const importable = await withoutForeignIdentities(tx, withOwnKeys, reject)
    const rows = importable.map((user) => toNewRow(isNumbered ? { ...user, id: --lastRehearsedId } : user, now()))
    const created = joined(importable, await insertUsers(tx, rows, { keepsIds: keepIds || isNumbered }))
    if (keepIds && !isRehearsal && created.size > 0) await continueIds(tx)
    const others = importable.filter((user) => !created.has(user))
    const found = joined(others, await findUsersByEmail(tx, keysOf(others)))
    for (const user of others) if (!found.has(user)) reject(user, `id: ${user.id} belongs to another account`)
    const updated = await treatConflicts(tx, found, reject)
    const written = new Map([...created, ...updated])
    await writeKeys(tx, written)
    const updatedIds = new Set(updated.values())
    await writeCodes(tx, written, updatedIds)
    await writePasskeys(tx, written, updatedIds)
    await writeIdentities(tx, written, updatedIds)
    await writeData(tx, created, updated)
    recordImport(tx, created, updated)
    const skipped = onConflict === 'skip' ? [...found.keys()] : []
    return { created: [...created.keys()], updated: [...updated.keys()], skipped, rejected }
  }

  /** Returns the users whose accounts were updated. */
  async function treatConflicts(tx: ChangeTransaction, found: UserIds, reject: Reject): Promise<UserIds> {
    const users = [...found.keys()]
    if (onConflict === 'fail') for (const user of users) reject(user, 'email: an account with this address exists already')
    if (onConflict !== 'update') return new Map()
    if (users.length > 0) await update(tx, users)
    return found
  }

  async function update(tx: ChangeTransaction, users: readonly ImportedUser[]): Promise<void> {
    const before = await lockUserStates(tx, keysOf(users))
    await updateUsers(
      tx,
      users.map((user) => ({ ...user, id: undefined })),
    )
    const byKey = new Map(users.map((user) => [user.emailKey, user]))
    for (const state of before) {
      const user = byKey.get(state.emailKey)
      if (user !== undefined) for (const change of changesOf(state, user)) tx.record(change)
    }
  }

  async function writeKeys(tx: ChangeTransaction, ids: UserIds): Promise<void> {
    const keys = [...ids].flatMap(([user, userId]) => user.keys.map((key) => ({ ...key, userId, createdAt: key.createdAt ?? now() })))
    const retiring = keys.flatMap(({ id, retiringSecrets }) => retiringSecrets.map((secret) => ({ ...secret, keyId: id })))
    if (keys.length > 0) await insertKeys(tx, keys, retiring)
  }

  /** An account that exists gets other codes, or none that it does not have already. */
  async function writeCodes(tx: ChangeTransaction, ids: UserIds, updatedIds: ReadonlySet<number>): Promise<void> {
    const given = [...ids].flatMap(([{ totpSecret }, userId]) => (totpSecret === undefined ? [] : [{ userId, totpSecret }]))
    if (given.length === 0) return
    const { totpSealer } = parts
    const present = await listTotpSecrets(
      tx,
      given.map(({ userId }) => userId),
    )
    const presentOf = new Map(present.map((secret) => [secret.userId, secret]))
    const isOther = ({ userId, totpSecret }: { readonly userId: number; readonly totpSecret: ImportedTotp }) => {
      const kept = presentOf.get(userId)
      const isSame = kept?.confirmedAt !== undefined && kept.salt === totpSecret.salt && totpSealer.open(kept) === totpSecret.secret
      return !isSame
    }
    const others = given.filter(isOther)
    if (others.length === 0) return
    const secrets = others.map(({ userId, totpSecret: { secret, createdAt = now(), confirmedAt = createdAt, lastStep, salt } }) => ({
      ...totpSealer.sealFor(userId, secret),
      ...{ userId, createdAt, confirmedAt, lastStep, salt },
    }))
    const codes = others.flatMap(({ userId, totpSecret }) => totpSecret.recoveryCodes.map((codeHash) => ({ userId, codeHash })))
    await saveImportedCodes(tx, secrets, codes)
    for (const { userId } of others) {
      if (!updatedIds.has(userId)) continue
      await endLoginChallenges(tx, userId)
      tx.record({ kind: 'factor.added', target: userId, changed: ['totp'] })
    }
  }

  async function writePasskeys(tx: ChangeTransaction, ids: UserIds, updatedIds: ReadonlySet<number>): Promise<void> {
    const passkeys = [...ids].flatMap(([{ passkeyList }, userId]) =>
      passkeyList.map((passkey) => ({ ...passkey, userId, createdAt: passkey.createdAt ?? now() })),
    )
    if (passkeys.length === 0) return
    for (const target of await insertImportedPasskeys(tx, passkeys))
      if (updatedIds.has(target)) tx.record({ kind: 'passkey.added', target })
  }

  async function writeIdentities(tx: ChangeTransaction, ids: UserIds, updatedIds: ReadonlySet<number>): Promise<void> {
    const connected = [...ids.keys()].filter(({ identities }) => identities.length > 0)
    if (connected.length === 0) return
    // Of an account that exists, a file need not say whether it is verified.
    const verifiedKeys = new Set((await lockUserStates(tx, keysOf(connected))).filter(isVerified).map(({ emailKey }) => emailKey))
    const rows = [...ids].flatMap(([{ identities, emailKey }, userId]) =>
      identities.map((identity) => ({
        ...identity,
        userId,
        connectedAt: identity.connectedAt ?? now(),
        proven: identity.proven ?? verifiedKeys.has(emailKey),
      })),
    )
    const inserted = await insertImportedIdentities(tx, rows)
    const unproven = inserted.filter(({ proven }) => !proven).map(({ userId }) => userId)
    if (unproven.length > 0) await markImportedUnproven(tx, unproven)
    for (const { userId, provider } of inserted)
      if (updatedIds.has(userId)) tx.record({ kind: 'provider.connected', target: userId, changed: [provider] })
  }

  /** New accounts have no data. What an account loses or gets leaves an event, as if it had been changed by hand. */
  async function writeData(tx: ChangeTransaction, created: UserIds, updated: UserIds): Promise<void> {
    const rows = [...created].flatMap(([{ data }, userId]) => (isGiven(data) ? [{ userId, ...replaced(NO_DATA, data) }] : []))
    for (const [{ data }, userId] of updated) {
      if (!isGiven(data)) continue
      const before = (await findUserData(tx, userId)) ?? NO_DATA
      const after = replaced(before, data)
      const events = dataChanges(userId, before, after)
      if (events.length > 0) rows.push({ userId, ...after })
      events.forEach(tx.record)
    }
    if (rows.length > 0) await saveUserData(tx, rows)
  }

  return {
    /** Whether a file may bring its ids: the database is empty, or an earlier run of the same file was interrupted. */
    async mayKeepIds(first: ImportedUser): Promise<boolean> {
      if (!(await hasUsers(reads))) return true
      const [found] = await findUsersByEmail(reads, [first.emailKey])
      return found !== undefined && found.id === first.id
    },
    /** The addresses that have accounts, in lower case. */
    async existing(users: readonly ImportedUser[]): Promise<ReadonlySet<string>> {
      const found = await findUsersByEmail(reads, keysOf(users))
      return new Set(found.map(({ emailKey }) => emailKey))
    },
    /** The kinds of foreign hashes that accounts have, and those that a file with these numbers of users may bring. */
    foreignKinds: async (usersByKind: ReadonlyMap<string, number>) =>
      decideKinds(await listForeignKinds(reads, MAX_LISTED_KINDS), usersByKind, createMeasurements()),
    /** Called once before the first batch. */
    begin: () => changes.inBulk(origin, expectManyRows),
    /** Imports users, or none of them if it throws. No two of them have the same address or a key in common. */
    write: (users: readonly ImportedUser[]) => changes.inBulk(origin, (tx) => writeBatch(tx, users)),
  }
}

/** The new accounts share one event; those of admins have another one, like every new admin. */
function recordImport(tx: ChangeTransaction, created: UserIds, updated: UserIds): void {
  const count = created.size + updated.size
  if (count > 0) tx.record({ kind: 'user.imported', count })
  for (const [{ role }, target] of created) if (role === 'admin') tx.record({ kind: 'user.promoted', target })
}

/** Rejects users without an id that can be kept. */
function withIds(users: readonly ImportedUser[], reject: Reject): readonly ImportedUser[] {
  for (const user of users) {
    if (user.id === undefined) reject(user, 'id: is missing, which --keep-ids needs')
    else if (user.id > MAX_KEPT_ID) reject(user, `id: should be at most ${MAX_KEPT_ID} with --keep-ids`)
  }
  return users.filter(({ id }) => id !== undefined && id <= MAX_KEPT_ID)
}

/** Rejects users with a key or a passkey that another account has. */
async function withoutForeignKeys(tx: ChangeTransaction, users: readonly ImportedUser[], reject: Reject): Promise<readonly ImportedUser[]> {
  const names = users.flatMap(({ keys, passkeyList }) => [
    ...keys.flatMap(({ id, keyHash }) => [id, keyHash]),
    ...passkeyList.flatMap(({ id, credentialId }) => [id, credentialId]),
  ])
  if (names.length === 0) return users
  const owners = await findKeyOwners(tx, names)
  return users.filter((user) => {
    const isForeign = (name: string) => (owners.get(name) ?? user.emailKey) !== user.emailKey
    const foreign = user.keys.find(({ id, keyHash }) => isForeign(id) || isForeign(keyHash))
    const foreignPasskey = user.passkeyList.find(({ id, credentialId }) => isForeign(id) || isForeign(credentialId))
    if (foreign !== undefined) reject(user, `keys: the key ${foreign.id} belongs to another account`)
    else if (foreignPasskey !== undefined) reject(user, `passkeys: the passkey ${foreignPasskey.id} belongs to another account`)
    return foreign === undefined && foreignPasskey === undefined
  })
}

/** Rejects users with an account of a provider that opens another account. */
async function withoutForeignIdentities(
  tx: ChangeTransaction,
  users: readonly ImportedUser[],
  reject: Reject,
): Promise<readonly ImportedUser[]> {
  const given = users.flatMap(({ identities }) => identities)
  if (given.length === 0) return users
  const nameOf = ({ issuer, subject }: { readonly issuer: string; readonly subject: string }) => `${issuer} ${subject}`
  const owners = new Map((await listIdentityOwners(tx, given)).map((row) => [nameOf(row), row.email_key]))
  return users.filter((user) => {
    const foreign = user.identities.find((identity) => (owners.get(nameOf(identity)) ?? user.emailKey) !== user.emailKey)
    if (foreign !== undefined) reject(user, `providers: the account at ${foreign.provider} belongs to another account`)
    return foreign === undefined
  })
}

/** The users that were found, with their ids. */
function joined(users: readonly ImportedUser[], found: readonly FoundUser[]): Map<ImportedUser, number> {
  const ids = new Map(found.map(({ id, emailKey }) => [emailKey, id]))
  return new Map(
    users.flatMap((user) => {
      const id = ids.get(user.emailKey)
      return id === undefined ? [] : [[user, id] as const]
    }),
  )
}

function isGiven(data: DataChange | undefined): data is DataChange {
  return data?.profile !== undefined || data?.app !== undefined
}

function isVerified({ verified }: UserState): boolean {
  return verified
}

function keysOf(users: readonly ImportedUser[]): string[] {
  return users.map(({ emailKey }) => emailKey)
}

function toNewRow(user: ImportedUser, now: number): GivenUser {
  return {
    ...user,
    firstName: user.firstName ?? NO_NAME,
    lastName: user.lastName ?? NO_NAME,
    role: user.role ?? 'user',
    verified: user.verified ?? false,
    banned: user.banned ?? false,
    passwordHash: user.passwordHash ?? NO_PASSWORD,
    createdAt: user.createdAt ?? now,
    ...NO_FACTORS,
  }
}

/** What an import changes in an account that exists: the same events as if it had been changed by hand. */
function changesOf(before: UserState, user: ImportedUser): Change[] {
  const target = before.id
  const changed = editedFields(before, user)
  const changes: (Change | false)[] = [
    changed.length > 0 && { kind: 'user.edited', target, changed },
    before.passwordHash !== NO_PASSWORD && differs(user.passwordHash, before.passwordHash) && { kind: 'user.password_changed', target },
    user.verified === true && !before.verified && { kind: 'user.verified', target },
    // An import neither takes the admin role nor bans an admin.
    before.role !== 'admin' && user.role === 'admin' && { kind: 'user.promoted', target },
    before.role !== 'admin' && differs(user.banned, before.banned) && { kind: user.banned ? 'user.banned' : 'user.unbanned', target },
  ]
  return changes.filter((change) => change !== false)
}

function editedFields(before: UserState, user: ImportedUser): string[] {
  const others = {
    verified: user.verified === false && before.verified,
    // Some products export passwords apart from the accounts: a first password changes none, so the owner gets no notice.
    password: user.passwordHash !== undefined && before.passwordHash === NO_PASSWORD,
    keys: user.keys.length > 0,
  }
  return [
    ...UPDATED_FIELDS.filter((name) => differs(user[name], before[name])).map(snakeCase),
    ...Object.entries(others).flatMap(([name, isChanged]) => (isChanged ? [name] : [])),
  ]
}

/** What the file leaves out stays. */
function differs<Value>(given: Value | undefined, present: Value): boolean {
  return given !== undefined && given !== present
}
