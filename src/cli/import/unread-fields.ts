import type { FieldTree } from '../../domain/import/imported-user.ts'
import { isObject, type JsonObject } from '../../model/entity.ts'
import { counted } from '../../shared/text.ts'
import { excerpt } from '../terminal/output.ts'
import { parseJson } from './records.ts'
import { REASON } from './rejects.ts'

/** A field that is not imported, by its path, and how many users have it. The name is missing for all fields beyond those that are named. */
export type UnreadField = { readonly name: string | undefined; readonly users: number }

export type UnreadFields = ReturnType<typeof createUnreadFields>

/** A file may have other names for each of its users, and names of any length. */
const MAX_NAMES = 50
const MAX_NAME_LENGTH = 200

export function createUnreadFields() {
  // The counter without a name is that of all further fields.
  const counters = new Map<string | undefined, { users: number; lastUser: number }>()
  let user = 0

  function add(path: string): void {
    if (path === REASON) return
    const name = path.length > MAX_NAME_LENGTH ? shortened(path) : path
    const counted = counters.has(name) || counters.size < MAX_NAMES ? name : undefined
    const counter = counters.get(counted) ?? { users: 0, lastUser: 0 }
    // A list may have the same field in each of its entries.
    if (counter.lastUser === user) return
    counter.lastUser = user
    counter.users++
    counters.set(counted, counter)
  }

  return {
    /** Counts the fields of a user, or of a row of another list, that are not in the tree. */
    count(record: JsonObject, fields: FieldTree, path?: string): void {
      user++
      if (path === undefined) visitFields(record, fields, '', add)
      else visitEntries(record, fields, path, add)
    },
    list: (): UnreadField[] => [...counters].map(([name, { users }]) => ({ name, users })),
  }
}

/** Says which field is lost. Names are texts of others. */
export function describeUnread({ name, users }: UnreadField): string {
  return `not imported: ${name === undefined ? 'further fields' : `"${excerpt(name)}"`} (${counted(users, 'user')})`
}

type Add = (name: string) => void

function visitFields(record: JsonObject, fields: FieldTree, prefix: string, add: Add): void {
  for (const name of Object.keys(record)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (typeof field === 'object') visitEntries(record[name], field, prefix + name, add)
    else if (field === undefined && isSet(record[name])) add(prefix + name)
  }
}

/** Visits an object, or the objects of a list. Lists in lists are not followed: they may be nested too deeply. */
function visitEntries(value: unknown, fields: FieldTree, path: string, add: Add): void {
  let isRead = false
  for (const entry of entriesOf(value)) {
    const reason = isObject(entry) ? reasonUnread(entry, fields, isRead) : ''
    if (reason !== undefined) add(path + reason)
    else if (isObject(entry)) {
      visitFields(entry, fields, `${path}.`, add)
      isRead = true
    }
  }
}

function entriesOf(value: unknown): readonly unknown[] {
  const nested = typeof value === 'string' ? (parseJson(value) ?? value) : value
  if (Array.isArray(nested)) return nested
  return isSet(nested) ? [nested] : []
}

/** Why an entry is not read: it is of another kind, such as ` of type otp`, or only the first one of its kind is read. */
function reasonUnread(entry: JsonObject, fields: FieldTree, isRead: boolean): string | undefined {
  const kinds = Object.entries(fields).filter(([, only]) => typeof only === 'string')
  const [first] = kinds
  if (first === undefined) return undefined
  const other = kinds.find(([name, only]) => entry[name] !== undefined && entry[name] !== only)?.[0]
  if (other !== undefined) return ` of ${other} ${typeof entry[other] === 'string' ? entry[other] : typeof entry[other]}`
  const own = kinds.find(([name]) => entry[name] !== undefined)
  if (own === undefined) return ` without ${first[0]}`
  return isRead ? ` beyond the first of ${own.join(' ')}` : undefined
}

/** Nothing is lost with an empty field. */
function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}

/** A copy: a part of a text keeps all of it in memory. */
function shortened(name: string): string {
  return Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString()
}
