import { isDeepStrictEqual } from 'node:util'
import type { Actor, Operator } from '../../model/caller.ts'
import type { JsonObject } from '../../model/entity.ts'
import type { Change } from '../../model/event.ts'
import { Refusal } from '../../model/refusal.ts'
import { NO_DATA, USER_DATA, type UserData } from '../../model/user.ts'
import { findUserData, saveUserData } from '../../storage/repositories/users/user-data.repository.ts'
import { foundUser } from '../changes/callers.ts'
import type { AccountChange, DomainParts } from '../changes/changes.ts'
import { isSmall, mergePatch } from '../values/json.ts'

export type ProductData = ReturnType<typeof createProductData>

/** What is given of each object. Null empties it. */
export type DataChange = { readonly [Part in keyof UserData]?: JsonObject | null | undefined }

/** The data that a product keeps with accounts. Owners write their profile, admins everything. */
export function createProductData({ reads, changes }: Pick<DomainParts, 'reads' | 'changes'>) {
  /** Changes of one account run one at a time, so that none overwrites what another one has written. */
  function change(by: Actor | Operator, account: AccountChange, next: (before: UserData) => UserData): Promise<UserData> {
    const { userId } = account
    return changes.toAccount(by, account, async (tx) => {
      const before = foundUser(await findUserData(tx, userId))
      const after = next(before)
      if (!isSmall(after.profile) || !isSmall(after.app)) throw new Refusal('data_too_large')
      const events = dataChanges(userId, before, after)
      if (events.length > 0) await saveUserData(tx, [{ userId, ...after }])
      events.forEach(tx.record)
      return after
    })
  }

  return {
    find: async (userId: number): Promise<UserData> => foundUser(await findUserData(reads, userId)),
    /** The data of a caller. An account that was deleted since the caller was identified has none. */
    ofCaller: async ({ caller }: Pick<Actor, 'caller'>): Promise<UserData> => (await findUserData(reads, caller.user.id)) ?? NO_DATA,
    /** Changes the profile of the caller by a JSON Merge Patch. Returns the whole after the change. */
    async patchOwn(actor: Actor, { profile, app }: DataChange): Promise<UserData> {
      if (app !== undefined) throw new Refusal('not_permitted', 'only admins write app')
      return change(actor, { userId: actor.caller.user.id, allowed: 'owner' }, (before) => patched(before, { profile }))
    },
    /** The same for an admin, with both objects of any account. */
    patch: (by: Actor | Operator, userId: number, patch: DataChange) =>
      change(by, { userId, allowed: 'admin' }, (before) => patched(before, patch)),
    /** Replaces the objects that are given. */
    replace: (by: Actor | Operator, userId: number, given: DataChange) =>
      change(by, { userId, allowed: 'admin' }, (before) => replaced(before, given)),
  }
}

function patched(before: UserData, { profile = {}, app = {} }: DataChange): UserData {
  return { profile: profile === null ? {} : mergePatch(before.profile, profile), app: app === null ? {} : mergePatch(before.app, app) }
}

/** What is not given stays. */
export function replaced(before: UserData, { profile = before.profile, app = before.app }: DataChange): UserData {
  return { profile: profile ?? {}, app: app ?? {} }
}

// Object.keys returns string[]; these are the keys of this object.
const PARTS = Object.keys(USER_DATA.fields) as (keyof UserData)[]
// An object may have thousands of fields, with names of any length.
const MAX_NAMES = 20
const MAX_NAME_LENGTH = 64

/** The event of a change, with the names of the top-level fields that differ. None if nothing differs. */
export function dataChanges(target: number, before: UserData, after: UserData): Change[] {
  const names = PARTS.flatMap((part) => differences(before[part], after[part]).map((name) => `${part}.${name}`))
  if (names.length === 0) return []
  const shown = names.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME_LENGTH).toWellFormed())
  return [{ kind: 'data.changed', target, changed: names.length > MAX_NAMES ? [...shown, '…'] : shown }]
}

function differences(before: JsonObject, after: JsonObject): string[] {
  // In maps, because `before['__proto__']` would be an inherited property.
  const [former, present] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Set([...former.keys(), ...present.keys()])].filter((name) => !isDeepStrictEqual(former.get(name), present.get(name)))
}
