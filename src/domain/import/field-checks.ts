import { type Field, type Fields, type Given, snakeCase } from '../../model/entity.ts'
import { parseInstant } from '../values/instant.ts'
import { isScope, MAX_SCOPES, NAME_MAX_LENGTH, parseName, SCOPE_MAX_LENGTH } from '../values/limits.ts'
import { parseBooleanWord } from '../values/text.ts'
import { type JsonObject, Rejected } from './imported-user.ts'

/** Returns the value of a field, or undefined if it was left out. Throws Rejected with the name of the field and the reason. */
type FieldCheck = (name: string, value: unknown) => unknown

/** Returns a function that checks an object of a file: each field by its kind, unless the caller passes another check for it. */
export function checkFields<F extends Fields>(fields: F, own: { readonly [Name in keyof F]?: FieldCheck } = {}) {
  const checks = Object.entries(fields).map(([name, field]) => ({ name, column: snakeCase(name), check: own[name] ?? checkOf(field) }))
  return (record: JsonObject, prefix = ''): Given<F> => {
    const checked: Record<string, unknown> = {}
    for (const { name, column, check } of checks) checked[name] = check(prefix + column, record[column])
    // The check of a field returns a value of its kind.
    return checked as Given<F>
  }
}

function checkOf({ kind, choices = [] }: Field<unknown, unknown>): FieldCheck {
  switch (kind) {
    case 'integer':
      return checkId
    case 'text':
      return checkNameField
    case 'choice':
      return (name, value) => checkChoice(name, value, choices)
    case 'flag':
      return checkBoolean
    case 'instant':
      return checkTime
    case 'texts':
      return checkTexts
  }
}

// PostgreSQL writes booleans as t and f in CSV, and times as 2026-01-31 09:30:00.123456+00. Columns without a time zone, and Django with
// USE_TZ = False, have no offset; those who write such times mostly mean UTC.
const BOOLEAN_LETTERS: ReadonlyMap<string, boolean> = new Map([
  ['t', true],
  ['f', false],
])
const DATABASE_TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)(?::?(\d\d))?)?$/

/** Whether a field was left out. CSV has no other way to leave it out than an empty one. */
function isMissing(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === ''
}

export function checkText(name: string, value: unknown): string | undefined {
  if (isMissing(value)) return undefined
  if (typeof value !== 'string') throw new Rejected(`${name}: should be text`)
  return value
}

function checkNameField(name: string, value: unknown): string | undefined {
  const text = checkText(name, value)
  if (text === undefined) return undefined
  const parsed = parseName(text)
  if (parsed === undefined) throw new Rejected(`${name}: should be 1 to ${NAME_MAX_LENGTH} characters without control characters`)
  return parsed
}

/** Reads the spellings of all sources. Any other value that is set rejects the user: a ban must not be lost because of its spelling. */
export function checkBoolean(name: string, value: unknown): boolean | undefined {
  if (isMissing(value)) return undefined
  const parsed = typeof value === 'boolean' ? value : booleanOf(value)
  if (parsed === undefined) throw new Rejected(`${name}: should be true or false`)
  return parsed
}

/** SQLite has the numbers 1 and 0 in place of booleans. */
function booleanOf(value: unknown): boolean | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value).trim().toLowerCase()
  return parseBooleanWord(text) ?? BOOLEAN_LETTERS.get(text)
}

// Date reads the years 0 to 99 as 1900 to 1999. Four centuries later the calendar is the same.
const FIRST_CENTURY = /^00(?=\d\d-)/

/** A time before 1970, such as the zero time of Go (0001-01-01), becomes the first one that is stored. */
export function checkTime(name: string, value: unknown): number | undefined {
  const text = checkText(name, value)
  if (text === undefined) return undefined
  const time = parseInstant(
    text
      .replace(DATABASE_TIME, (_, day, clock, hours = '+00', minutes = '00') => `${day}T${clock}${hours}:${minutes}`)
      .replace(FIRST_CENTURY, '04'),
  )
  if (time === undefined) throw new Rejected(`${name}: should be a date with time and offset, such as 2026-01-31T09:30:00Z`)
  return Math.max(time, 0)
}

function checkChoice(name: string, value: unknown, choices: readonly string[]): string | undefined {
  const text = checkText(name, value)
  if (text === undefined || choices.includes(text)) return text
  throw new Rejected(`${name}: should be ${choices.join(' or ')}`)
}

export function checkShape(shape: RegExp, description: string) {
  return (name: string, value: unknown): string | undefined => {
    const text = checkText(name, value)
    if (text === undefined || shape.test(text)) return text
    throw new Rejected(`${name}: should be ${description}`)
  }
}

/** A list, or its JSON text in CSV. */
export function checkList(name: string, value: unknown, maxLength: number): readonly unknown[] {
  if (isMissing(value)) return []
  const list = typeof value === 'string' ? parseJson(value) : value
  if (!Array.isArray(list)) throw new Rejected(`${name}: should be a list`)
  if (list.length > maxLength) throw new Rejected(`${name}: should have at most ${maxLength} entries`)
  return list
}

function checkTexts(name: string, value: unknown): string[] {
  return checkList(name, value, MAX_SCOPES).map((entry) => {
    if (typeof entry === 'string' && isScope(entry)) return entry
    throw new Rejected(`${name}: each should be 1 to ${SCOPE_MAX_LENGTH} characters without control characters`)
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** A whole number above 0, or its digits in CSV. */
function checkId(name: string, value: unknown): number | undefined {
  if (isMissing(value)) return undefined
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) throw new Rejected(`${name}: should be a whole number above 0`)
  return id
}
