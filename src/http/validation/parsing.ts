import { parseEmail } from '../../domain/values/email.ts'
import { parseInstant } from '../../domain/values/instant.ts'
import { codePointLength, isCleanText, parseBooleanWord } from '../../domain/values/text.ts'
import { parseEventCursor } from '../../model/audit.ts'
import {
  above,
  below,
  InvalidRequest,
  type IssueMessage,
  type Location,
  MESSAGES,
  noneOf,
  notOneOf,
  tooFewItems,
  tooLong,
  tooManyItems,
  tooShort,
  type ValidationIssue,
} from './validation-error.ts'

/**
 * The subset of JSON Schema that request schemas may use. The service does not start if a schema has any other keyword, so every
 * declared rule is enforced. `trimmed`, `clearable`, `unbounded`, `atLeastOne` and `mayBeAbsent` are our own extensions.
 */
type FieldSchema = {
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
type Report = (message: IssueMessage, item?: number) => undefined
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
type ValueForm = 'text' | 'json'

function compileField(schema: FieldSchema, form: ValueForm): FieldParser {
  requireKnown(schema, FIELD_KEYWORDS)
  const parse = compileType(schema, form)
  if (form === 'json') return parse
  return (input, report) => {
    const message = messageAboutText(input)
    return message === undefined ? parse(input, report) : report(message)
  }
}

/** The checks for every parameter of a query or a form: it appears once (not a list) and can be decoded (not null). */
function messageAboutText(input: unknown): IssueMessage | undefined {
  if (Array.isArray(input)) return MESSAGES.repeated
  return input === null ? MESSAGES.undecodable : undefined
}

function compileType(schema: FieldSchema, form: ValueForm): FieldParser {
  if (schema.enum) return compileEnum(schema.enum)
  if (schema.type === 'string') return compileString(schema)
  if (schema.type === 'boolean') return form === 'text' ? parseBooleanText : parseBoolean
  if (schema.type === 'integer') return form === 'text' ? compileIntegerText(schema) : compileInteger(schema)
  if (schema.type === 'array' && schema.items && form === 'json')
    return compileListField(schema.items, schema.maxItems ?? Number.POSITIVE_INFINITY)
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

function compileListField(items: FieldSchema, maxItems: number): FieldParser {
  const parse = compileField(items, 'json')
  return (input, report) => {
    if (!Array.isArray(input)) return report(MESSAGES.listType)
    if (input.length > maxItems) return report(tooManyItems(maxItems))
    return input.map((item, index) => parse(item, (message) => report(message, index)))
  }
}

function requireKnown(schema: object, keywords: ReadonlySet<string>): void {
  const unknown = Object.keys(schema).find((keyword) => !keywords.has(keyword))
  if (unknown !== undefined) throw new Error(`request schemas do not support the keyword ${unknown}`)
}

export type ObjectSchema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly atLeastOne?: boolean
  /** A body that is not sent counts as an empty object. */
  readonly mayBeAbsent?: boolean
}

/** A body that is a list of objects. */
type ListSchema = {
  readonly type: 'array'
  readonly items: ObjectSchema
  readonly minItems?: number
  readonly maxItems?: number
}

export type PartSchema = ObjectSchema | ListSchema

/** The parsed form of a query or a form with too many parameters. */
export const TOO_MANY_PARAMETERS: Record<string, unknown> = Object.freeze(Object.create(null))

// A client may send any number of undeclared parameters, with names of any length.
const MAX_OTHERS_REPORTED = 20
const MAX_NAME_LENGTH = 64

const OBJECT_KEYWORDS = new Set(['type', 'properties', 'required', 'atLeastOne', 'mayBeAbsent', 'description', 'examples', 'title', '$id'])
const LIST_KEYWORDS = new Set(['type', 'items', 'minItems', 'maxItems', 'description', 'examples', 'title', '$id'])

type Place = readonly (string | number)[]
/** Turns a part of a request, or an item of one, into a value. Adds to the issues what is wrong with it. */
type PartParser = (input: unknown, place: Place, issues: ValidationIssue[]) => unknown

/**
 * Compiles a schema into a function that parses one part of a request. The result contains the declared fields only, so an
 * undeclared field cannot be applied by accident.
 */
export function compileParser(
  schema: PartSchema,
  location: Location,
  form: ValueForm = location === 'body' ? 'json' : 'text',
): (input: unknown) => unknown {
  const parse = isList(schema) ? compileList(schema) : compileObject(schema, form)
  return (input) => {
    if (input === undefined) throw new InvalidRequest([{ loc: [location], ...MESSAGES.missing }])
    if (input === TOO_MANY_PARAMETERS) throw new InvalidRequest([{ loc: [location], ...MESSAGES.tooManyParameters }])
    const issues: ValidationIssue[] = []
    const value = parse(input, [location], issues)
    if (issues.length > 0) throw new InvalidRequest(issues)
    return value
  }
}

function isList(schema: PartSchema): schema is ListSchema {
  return schema.type === 'array'
}

function compileList(schema: ListSchema): PartParser {
  requireKnown(schema, LIST_KEYWORDS)
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  const parseItem = compileObject(items, 'json')
  return (input, place, issues) => {
    if (!Array.isArray(input)) return void issues.push({ loc: place, ...MESSAGES.listType })
    if (input.length < minItems) return void issues.push({ loc: place, ...tooFewItems(minItems) })
    if (input.length > maxItems) return void issues.push({ loc: place, ...tooManyItems(maxItems) })
    return input.map((item, index) => parseItem(item, [...place, index], issues))
  }
}

function compileObject(schema: ObjectSchema, form: ValueForm): PartParser {
  requireKnown(schema, OBJECT_KEYWORDS)
  const required = new Set(schema.required)
  const declared = new Set(Object.keys(schema.properties ?? {}))
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    isRequired: required.has(name),
    fallback: field.default,
    isNullable: field.nullable === true,
    isClearable: field.clearable === true,
    parse: compileField(field, form),
  }))

  function parseFields(input: object, place: Place, issues: ValidationIssue[]): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const { name, isRequired, fallback, isNullable, isClearable, parse } of fields) {
      const raw = ownField(input, name, isNullable)
      if (raw === null && isClearable) value[name] = null
      else if (raw !== undefined) value[name] = parse(raw, reportTo(issues, place, name))
      else if (isRequired) issues.push({ loc: [...place, name], ...MESSAGES.missing })
      else if (fallback !== undefined) value[name] = fallback
    }
    return value
  }

  /** Undeclared parameters are ignored. One that is repeated or cannot be decoded is an error: the client meant something else. */
  function checkOthers(input: object, place: Place, issues: ValidationIssue[]): void {
    const others: ValidationIssue[] = []
    for (const [name, raw] of Object.entries(input)) {
      const message = declared.has(name) ? undefined : messageAboutText(raw)
      if (message) others.push({ loc: [...place, name.slice(0, MAX_NAME_LENGTH)], ...message })
    }
    issues.push(...others.slice(0, MAX_OTHERS_REPORTED))
  }

  return (input, place, issues) => {
    if (!isPlainObject(input)) return void issues.push({ loc: place, ...MESSAGES.objectType })
    const value = parseFields(input, place, issues)
    if (form === 'text') checkOthers(input, place, issues)
    if (schema.atLeastOne && Object.keys(value).length === 0) issues.push({ loc: place, ...noneOf(fields.map(({ name }) => name)) })
    return value
  }
}

function reportTo(issues: ValidationIssue[], place: Place, name: string): Report {
  return (message, item) => {
    issues.push({ loc: item === undefined ? [...place, name] : [...place, name, item], ...message })
  }
}

/** The value that was sent under this name, never an inherited property such as `constructor`. */
function ownField(input: object, name: string, isNullable: boolean): unknown {
  const raw: unknown = Object.getOwnPropertyDescriptor(input, name)?.value
  return raw === null && isNullable ? undefined : raw
}

function isPlainObject(input: unknown): input is object {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}
