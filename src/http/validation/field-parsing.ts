import { parseEmail } from '../../domain/values/email.ts'
import { parseEventCursor } from '../../domain/values/event-cursor.ts'
import { parseInstant } from '../../domain/values/instant.ts'
import { codePointLength, isCleanText, parseBooleanWord } from '../../domain/values/text.ts'
import { above, below, type IssueMessage, MESSAGES, notOneOf, tooLong, tooManyItems, tooShort } from './validation-error.ts'

/**
 * The subset of JSON Schema that request schemas may use. The service does not start if a schema has any other keyword, so every
 * declared rule is enforced. `trimmed`, `clearable`, `unbounded`, `atLeastOne` and `mayBeAbsent` are our own extensions.
 */
export type FieldSchema = {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly trimmed?: boolean
  /** Null counts as a field that is left out. */
  readonly nullable?: boolean
  /** Null is a value: it removes what is stored. */
  readonly clearable?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  /** An integer that a number cannot hold exactly becomes a bigint. */
  readonly unbounded?: boolean
  readonly maxItems?: number
  readonly items?: FieldSchema
  readonly default?: unknown
}

/** Records an issue of a field, or of one item of a list. Returns undefined, in place of the parsed value. */
export type Report = (message: IssueMessage, item?: number) => undefined
type FieldParser = (input: unknown, report: Report) => unknown

const FIELD_KEYWORDS = new Set([
  'type',
  'format',
  'enum',
  'trimmed',
  'nullable',
  'clearable',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'unbounded',
  'maxItems',
  'items',
  'default',
  'description',
  'examples',
  'title',
])
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** How a value arrives: as text in a path, a query or a form, or as JSON. */
export type ValueForm = 'text' | 'json'

export function compileField(schema: FieldSchema, form: ValueForm): FieldParser {
  requireKnown(schema, FIELD_KEYWORDS)
  const parse = compileType(schema, form)
  if (form === 'json') return parse
  return (input, report) => {
    const message = messageAboutText(input)
    return message === undefined ? parse(input, report) : report(message)
  }
}

/** The checks for every parameter of a query or a form: it appears once (not a list) and can be decoded (not null). */
export function messageAboutText(input: unknown): IssueMessage | undefined {
  if (Array.isArray(input)) return MESSAGES.repeated
  return input === null ? MESSAGES.undecodable : undefined
}

function compileType(schema: FieldSchema, form: ValueForm): FieldParser {
  if (schema.enum) return compileEnum(schema.enum)
  if (schema.type === 'string') return compileString(schema)
  if (schema.type === 'boolean') return form === 'text' ? parseBooleanText : parseBoolean
  if (schema.type === 'integer') return form === 'text' ? compileIntegerText(schema) : compileInteger(schema)
  if (schema.type === 'array' && schema.items && form === 'json')
    return compileList(schema.items, schema.maxItems ?? Number.POSITIVE_INFINITY)
  throw new Error(`request schemas do not support ${JSON.stringify(schema)}`)
}

function compileString({ format, trimmed, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: FieldSchema): FieldParser {
  if (format === 'uuid') return parseUuid
  if (format === 'email') return parseEmailField
  if (format === 'date-time') return parseInstantField
  if (format === 'cursor') return parseCursorField
  const isAllowed = format === 'password' ? (text: string) => text.isWellFormed() : isCleanText
  if (format !== undefined && format !== 'password') throw new Error(`request schemas do not support the format ${format}`)
  return (input, report) => {
    if (typeof input !== 'string') return report(MESSAGES.stringType)
    if (!isAllowed(input)) return report(MESSAGES.forbiddenCharacter)
    const text = trimmed ? input.trim() : input
    const length = codePointLength(text)
    if (length < minLength) return report(tooShort(minLength))
    if (length > maxLength) return report(tooLong(maxLength))
    return text
  }
}

function parseEmailField(input: unknown, report: Report): unknown {
  if (typeof input !== 'string') return report(MESSAGES.stringType)
  if (!isCleanText(input)) return report(MESSAGES.forbiddenCharacter)
  const email = parseEmail(input)
  return email === undefined ? report(MESSAGES.email) : email
}

function parseInstantField(input: unknown, report: Report): unknown {
  return (typeof input === 'string' ? parseInstant(input) : undefined) ?? report(MESSAGES.instantParsing)
}

function parseCursorField(input: unknown, report: Report): unknown {
  return (typeof input === 'string' ? parseEventCursor(input) : undefined) ?? report(MESSAGES.cursorParsing)
}

function parseUuid(input: unknown, report: Report): unknown {
  return typeof input === 'string' && UUID.test(input) ? input.toLowerCase() : report(MESSAGES.uuidParsing)
}

function compileEnum(values: readonly string[]): FieldParser {
  const message = notOneOf(values)
  return (input, report) => (typeof input === 'string' && values.includes(input) ? input : report(message))
}

function parseBoolean(input: unknown, report: Report): unknown {
  return typeof input === 'boolean' ? input : report(MESSAGES.booleanType)
}

function parseBooleanText(input: unknown, report: Report): unknown {
  return parseBooleanWord(String(input)) ?? report(MESSAGES.booleanParsing)
}

function compileInteger({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: FieldSchema): FieldParser {
  return (input, report) => {
    if (typeof input !== 'number' || !Number.isInteger(input)) return report(MESSAGES.integerType)
    if (input < minimum) return report(below(minimum))
    if (input > maximum) return report(above(maximum))
    return input
  }
}

function compileIntegerText({ minimum = 0, maximum = Number.POSITIVE_INFINITY, unbounded }: FieldSchema): FieldParser {
  return (input, report) => {
    if (typeof input !== 'string' || !/^\d+$/.test(input)) return report(MESSAGES.integerParsing)
    if (unbounded && Number(input) > Number.MAX_SAFE_INTEGER) return BigInt(input)
    // Numbers above 2^53 are not exact. No id or size is that large, so all of them become the largest exact integer.
    const value = Math.min(Number(input), Number.MAX_SAFE_INTEGER)
    if (value < minimum) return report(below(minimum))
    if (value > maximum) return report(above(maximum))
    return value
  }
}

function compileList(items: FieldSchema, maxItems: number): FieldParser {
  const parse = compileField(items, 'json')
  return (input, report) => {
    if (!Array.isArray(input)) return report(MESSAGES.listType)
    if (input.length > maxItems) return report(tooManyItems(maxItems))
    return input.map((item, index) => parse(item, (message) => report(message, index)))
  }
}

export function requireKnown(schema: object, keywords: ReadonlySet<string>): void {
  const unknown = Object.keys(schema).find((keyword) => !keywords.has(keyword))
  if (unknown !== undefined) throw new Error(`request schemas do not support the keyword ${unknown}`)
}
