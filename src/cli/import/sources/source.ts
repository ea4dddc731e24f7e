import { checkTime } from '../../../domain/import/field-checks.ts'
import type { FieldTree, Known, UserFields } from '../../../domain/import/imported-user.ts'
import { isObject, isoTime, type JsonObject } from '../../../model/entity.ts'
import { parseJson } from '../records.ts'
import type { UnreadFields } from '../unread-fields.ts'

/** How the users of another product become users of Latchkey. */
export type Source = {
  readonly title: string
  /** The name of the list of users, where the export is one object. */
  readonly listName?: string
  /** The columns that a CSV file has to have. Without them, the source has no CSV. */
  readonly csvColumns?: readonly string[]
  /** What a user of this source always has, such as `localId`. A file whose users lack it comes from another source. */
  readonly mark: string
  isUser(record: JsonObject): boolean
  /** Whether a record is known to be something else than a user. It is passed over and not counted. */
  isOther?(record: JsonObject): boolean
  /** Called once before the users are read, for an export that keeps the passwords in a list of their own. */
  prepare?(readList: (name: string) => AsyncIterable<readonly JsonObject[]>, unread: UnreadFields): Promise<void>
  /** The fields that `convert` reads. All others that a user has are reported. */
  fieldsOf(record: JsonObject): FieldTree
  /** Returns the user in the format of `latchkey user export`. Throws Rejected with a reason. */
  convert(record: JsonObject): UserFields
}

type Definition<Fields extends FieldTree> = Omit<Source, 'fieldsOf' | 'convert'> & {
  readonly fields: Fields
  convert(record: Known<Fields>): UserFields
}

/** A source whose users all have the same fields. It reads those that it names: another one does not compile. */
export function defineSource<const Fields extends FieldTree>({ fields, ...source }: Definition<Fields>): Source {
  return { ...source, fieldsOf: () => fields }
}

/** Fields that are plain values. */
export function plain<const Names extends readonly string[]>(...names: Names): Readonly<Record<Names[number], true>> {
  // Every name of the list becomes a key of the object.
  return Object.fromEntries(names.map((name) => [name, true])) as Record<Names[number], true>
}

/** The first name and the last name in a full one: all but the first word is the last name. */
export function splitName(fullName: unknown): { readonly first_name?: string; readonly last_name?: string } {
  if (typeof fullName !== 'string') return {}
  const [first = '', ...rest] = fullName.trim().split(/\s+/)
  return { first_name: first, last_name: rest.join(' ') }
}

const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
// As milliseconds, this is a day of 1973; as seconds, of the year 5138.
const FIRST_MILLISECONDS = 10 ** 11

/** A time since 1970, as a number or as digits: in milliseconds or, as some adapters of better-auth store it, in seconds. */
export function fromTimestamp(value: unknown): string | undefined {
  const time = typeof value === 'string' && /^-?\d{1,17}$/.test(value) ? Number(value) : value
  if (typeof time !== 'number' || !Number.isFinite(time)) return undefined
  const milliseconds = Math.abs(time) < FIRST_MILLISECONDS ? time * 1000 : time
  return isoTime(Math.min(Math.max(milliseconds, 0), LAST_TIME))
}

/** PostgreSQL has this time. */
export const FOREVER = 'infinity'

/** Whether a time is still to come. Rejects what is not a time: an account that cannot be understood must not lose its ban. */
export function isInFuture(name: string, value: unknown): boolean {
  if (value === FOREVER) return true
  const time = checkTime(name, fromTimestamp(value) ?? value)
  return time !== undefined && time > Date.now()
}

/** The object that a field has, or its JSON text in CSV. Empty if there is none. */
export function objectOf(value: unknown): JsonObject {
  const given = typeof value === 'string' ? parseJson(value) : value
  return isObject(given) ? given : {}
}
