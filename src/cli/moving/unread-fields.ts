import type { FieldTree } from '../../domain/moving/fields.ts'
import { isObject, type JsonObject } from '../../domain/moving/imported-user.ts'
import { counted } from '../../shared/counted.ts'
import { excerpt } from '../terminal/text.ts'
import { REASON } from './rejects.ts'

/** A field that is not imported, by its path, and how many users have it. The name is missing for all fields beyond those that are named. */
export type UnreadField = { readonly name: string | undefined; readonly users: number }

export type UnreadFields = {
  /** Counts the fields of a user, or of a row of another list, that are not in the tree. */
  count(record: JsonObject, fields: FieldTree, path?: string): void
  list(): UnreadField[]
}

/** A file may have other names for each of its users, and names of any length. */
const MAX_NAMES = 50
const MAX_NAME_LENGTH = 200

type Counter = { users: number; lastUser: number }

export function createUnreadFields(): UnreadFields {
  const counters = new Map<string, Counter>()
  const others: Counter = { users: 0, lastUser: 0 }
  let user = 0

  function add(name: string): void {
    if (name === REASON) return
    const counter = counterOf(name.length > MAX_NAME_LENGTH ? shortened(name) : name)
    // A list may have the same field in each of its entries.
    if (counter.lastUser === user) return
    counter.lastUser = user
    counter.users++
  }

  function counterOf(name: string): Counter {
    const known = counters.get(name)
    if (known !== undefined) return known
    if (counters.size >= MAX_NAMES) return others
    const counter = { users: 0, lastUser: 0 }
    counters.set(name, counter)
    return counter
  }

  return {
    count(record, fields, path) {
      user++
      if (path === undefined) visitFields(record, fields, '', add)
      else visitEntries(record, fields, path, add)
    },
    list() {
      const named = [...counters].map(([name, { users }]) => ({ name, users }))
      return others.users === 0 ? named : [...named, { name: undefined, users: others.users }]
    },
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
  for (const entry of entriesOf(value)) {
    const other = otherKind(entry, fields)
    if (other !== undefined) add(`${path} of ${other}`)
    else if (isObject(entry)) visitFields(entry, fields, `${path}.`, add)
    else add(path)
  }
}

function entriesOf(value: unknown): readonly unknown[] {
  const nested = typeof value === 'string' ? (parseJson(value) ?? value) : value
  if (Array.isArray(nested)) return nested
  return isSet(nested) ? [nested] : []
}

/** The name and the value that make an object one that is not read, such as `type otp`. Undefined if it is read. */
function otherKind(entry: unknown, fields: FieldTree): string | undefined {
  if (!isObject(entry)) return undefined
  for (const [name, only] of Object.entries(fields)) {
    const value = entry[name]
    if (typeof only !== 'string' || value === undefined || value === only) continue
    return `${name} ${typeof value === 'string' ? value : typeof value}`
  }
  return undefined
}

/** Nothing is lost with an empty field. */
function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}

/** The JSON of a field in CSV. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** A copy: a part of a text keeps all of it in memory. */
function shortened(name: string): string {
  return Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString()
}
