import { type Field, type Fields, type Given, isObject, type JsonObject, snakeCase } from '../../model/entity.ts'
import { parseInstant } from '../values/instant.ts'
import { isSmall, isStorable, MAX_LEVELS, MAX_OBJECT_BYTES } from '../values/json.ts'
import { isScope, MAX_SCOPES, NAME_MAX_LENGTH, parseName, SCOPE_MAX_LENGTH } from '../values/limits.ts'
import { parseBooleanWord } from '../values/text.ts'
import { Rejected } from './imported-user.ts'

/** Returns the value of a field, or undefined if it was left out. Throws Rejected with the name of the field and the reason. */
type FieldCheck<Value = unknown> = (name: string, value: unknown) => Value | undefined

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
      return checkName
    case 'choice':
      return checkParsed((text) => choices.find((choice) => choice === text), choices.join(' or '))
    case 'flag':
      return checkBoolean
    case 'instant':
      return checkTime
    case 'texts':
      return checkScopes
    case 'object':
      return checkStoredObject
  }
}

/** Whether a field was left out. CSV has no other way to leave it out than an empty one. */
function isMissing(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === ''
}

/** Returns the check of a field that `parse` reads, or returns undefined for. */
function checkValue<Value>(parse: (value: unknown) => Value | undefined, expected: string): FieldCheck<Value> {
  return (name, value) => {
    if (isMissing(value)) return undefined
    const parsed = parse(value)
    if (parsed === undefined) throw new Rejected(`${name}: should be ${expected}`)
    return parsed
  }
}

export const checkText = checkValue((value) => (typeof value === 'string' ? value : undefined), 'text')

/** Like checkValue(), for a field that is text in every format. */
export function checkParsed<Value>(parse: (text: string) => Value | undefined, expected: string): FieldCheck<Value> {
  const check = checkValue((text) => parse(String(text)), expected)
  return (name, value) => check(name, checkText(name, value))
}

export function checkShape(shape: RegExp, expected: string): FieldCheck<string> {
  return checkParsed((text) => (shape.test(text) ? text : undefined), expected)
}

const checkName = checkParsed(parseName, `1 to ${NAME_MAX_LENGTH} characters without control characters`)

export function checkWholeNumber(max: number): FieldCheck<number> {
  return checkValue((value) => {
    return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max ? value : undefined
  }, `a whole number up to ${max}`)
}

/** A whole number above 0, or its digits in CSV. */
const checkId = checkValue((value) => {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : undefined
}, 'a whole number above 0')

// PostgreSQL writes booleans as t and f in CSV, and SQLite has the numbers 1 and 0.
const BOOLEAN_LETTERS: ReadonlyMap<string, boolean> = new Map([
  ['t', true],
  ['f', false],
])

/** Reads the spellings of all sources. Any other value that is set rejects the user: a ban must not be lost because of its spelling. */
export const checkBoolean = checkValue((value) => {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value).trim().toLowerCase()
  return parseBooleanWord(text) ?? BOOLEAN_LETTERS.get(text)
}, 'true or false')

// PostgreSQL writes times as 2026-01-31 09:30:00.123456+00. Columns without a time zone, and Django with USE_TZ = False, have no offset;
// those who write such times mostly mean UTC.
const DATABASE_TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)(?::?(\d\d))?)?$/
// Date reads the years 0 to 99 as 1900 to 1999. Four centuries later the calendar is the same.
const FIRST_CENTURY = /^00(?=\d\d-)/

/** A time before 1970, such as the zero time of Go (0001-01-01), becomes the first one that is stored. */
export const checkTime = checkParsed((text) => {
  const standard = text.replace(DATABASE_TIME, (_, day, clock, hours = '+00', minutes = '00') => `${day}T${clock}${hours}:${minutes}`)
  const time = parseInstant(standard.replace(FIRST_CENTURY, '04'))
  return time === undefined ? undefined : Math.max(time, 0)
}, 'a date with time and offset, such as 2026-01-31T09:30:00Z')

/** A list, or its JSON text in CSV. */
export function checkList(name: string, value: unknown, maxLength: number): readonly unknown[] {
  const list = checkAnyList(name, value) ?? []
  if (list.length > maxLength) throw new Rejected(`${name}: should have at most ${maxLength} entries`)
  return list
}

const checkAnyList = checkValue((value): readonly unknown[] | undefined => {
  const list = typeof value === 'string' ? parseJson(value) : value
  return Array.isArray(list) ? list : undefined
}, 'a list')

/** An object, or its JSON text in CSV. */
export const checkObject = checkValue((value) => {
  const object = typeof value === 'string' ? parseJson(value) : value
  return isObject(object) ? object : undefined
}, 'an object')

function checkScopes(name: string, value: unknown): string[] {
  return checkList(name, value, MAX_SCOPES).map((entry) => {
    if (typeof entry === 'string' && isScope(entry)) return entry
    throw new Rejected(`${name}: each should be 1 to ${SCOPE_MAX_LENGTH} characters without control characters`)
  })
}

/** An object that a product keeps with an account. */
const checkStoredObject = checkValue(
  (value) => (isObject(value) && isStorable(value) && isSmall(value) ? value : undefined),
  `an object of at most ${MAX_OBJECT_BYTES} bytes as JSON, nested at most ${MAX_LEVELS} levels deep`,
)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
