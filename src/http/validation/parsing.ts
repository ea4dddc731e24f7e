import { parseEmail } from '../../domain/values/email.ts'
import { parseInstant } from '../../domain/values/instant.ts'
import { isStorable, parseObject } from '../../domain/values/json.ts'
import { parseLimit } from '../../domain/values/plans.ts'
import { codePointLength, isCleanText, parseBooleanWord } from '../../domain/values/text.ts'
import { parseEventCursor } from '../../model/audit.ts'
import { isObject } from '../../model/entity.ts'
import { InvalidRequest, type IssueMessage, type Location, MESSAGES, RULE_MESSAGES, type ValidationIssue } from './validation-error.ts'

/**
 * The subset of JSON Schema that request schemas may use. The service does not start if a schema has any other keyword, so every
 * declared rule is enforced. `trimmed`, `clearable`, `unbounded`, `atLeastOne`, `exactlyOne`, `maxLevels` and `mayBeAbsent` are our own extensions.
 */
export type RequestSchema = {
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
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: RequestSchema
  readonly properties?: Readonly<Record<string, RequestSchema>>
  readonly required?: readonly string[]
  readonly atLeastOne?: boolean
  /** The fields of which exactly one has to be there. */
  readonly exactlyOne?: readonly string[]
  /** How deeply an object whose fields its reader checks may be nested. */
  readonly maxLevels?: number
  /** A body that is not sent counts as an empty object. */
  readonly mayBeAbsent?: boolean
  readonly default?: unknown
}

const COMMON_KEYWORDS = ['type', 'title', 'description', 'examples', 'default', 'nullable', 'clearable', '$id']
/** The rules that a schema of each type may have. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['enum', 'format', 'trimmed', 'minLength', 'maxLength'],
  boolean: [],
  integer: ['minimum', 'maximum', 'unbounded'],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'atLeastOne', 'exactlyOne', 'mayBeAbsent', 'maxLevels'],
}

/** Records an issue of a value, or of the part of it at this place. Returns undefined, in place of the parsed value. */
type Report = (message: IssueMessage, ...place: readonly (string | number)[]) => undefined
type Parser = (input: unknown, report: Report) => unknown

/** How a value arrives: as text in a path, a query or a form, or as JSON. */
type ValueForm = 'text' | 'json'

/** The parsed form of a query or a form with too many parameters. */
export const TOO_MANY_PARAMETERS: Record<string, unknown> = Object.freeze(Object.create(null))
/** The parsed form of a query without parameters, as most requests have it. */
export const NO_PARAMETERS: Record<string, unknown> = Object.freeze(Object.create(null))

/**
 * Compiles a schema into a function that parses one part of a request. The result contains the declared fields only, so an
 * undeclared field cannot be applied by accident.
 */
export function compileParser(
  schema: RequestSchema,
  location: Location,
  form: ValueForm = location === 'body' ? 'json' : 'text',
): (input: unknown) => unknown {
  const parse = compile(schema, form)
  // The defaults of a query that most requests leave out are worked out once.
  let parsedNothing: unknown
  return (input) => {
    if (input === NO_PARAMETERS && parsedNothing !== undefined) return parsedNothing
    if (input === undefined) throw new InvalidRequest([{ loc: [location], ...MESSAGES.missing }])
    if (input === TOO_MANY_PARAMETERS) throw new InvalidRequest([{ loc: [location], ...MESSAGES.tooManyParameters }])
    const found: ValidationIssue[] = []
    const value = parse(input, (message, ...place) => void found.push({ loc: [location, ...place], ...message }))
    if (found.length > 0) throw new InvalidRequest(found)
    if (input === NO_PARAMETERS) parsedNothing = Object.freeze(value)
    return value
  }
}

function compile(schema: RequestSchema, form: ValueForm): Parser {
  const { type = schema.enum ? 'string' : 'object' } = schema
  const unknown = Object.keys(schema).find((keyword) => !COMMON_KEYWORDS.includes(keyword) && !KEYWORDS[type]?.includes(keyword))
  if (unknown !== undefined) throw new Error(`request schemas do not support the keyword ${unknown} of a schema for ${type}`)
  if (schema.enum) return compileEnum(schema.enum)
  if (type === 'string') return compileString(schema)
  if (type === 'boolean') return form === 'text' ? parseBooleanText : parseBoolean
  if (type === 'integer') return compileInteger(schema, form)
  if (type === 'object') return schema.properties || form === 'text' ? compileObject(schema, form) : compileAnyObject(schema)
  if (type === 'array' && schema.items) return compileList(schema, compile(schema.items, 'json'))
  throw new Error(`request schemas do not support ${JSON.stringify(schema)}`)
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The formats whose message is the same for every other value. The function returns undefined for a text that is not in the format. */
const FORMATS: Readonly<Record<string, readonly [parse: (text: string) => unknown, message: IssueMessage]>> = {
  uuid: [(text) => (UUID.test(text) ? text.toLowerCase() : undefined), MESSAGES.uuidParsing],
  'date-time': [parseInstant, MESSAGES.instantParsing],
  // The text of an object, from a form of a page.
  json: [parseObject, MESSAGES.objectParsing],
  limit: [(text) => (parseLimit(text) ? text : undefined), MESSAGES.limitParsing],
  cursor: [parseEventCursor, MESSAGES.cursorParsing],
}
const TEXT_FORMATS: readonly (string | undefined)[] = [undefined, 'email', 'password']

function compileString({ format, trimmed, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: RequestSchema): Parser {
  const [parse, message] = FORMATS[format ?? ''] ?? []
  if (parse && message) return (input, report) => (typeof input === 'string' ? parse(input) : undefined) ?? report(message)
  if (!TEXT_FORMATS.includes(format)) throw new Error(`request schemas do not support the format ${format}`)
  const isAllowed = format === 'password' ? (text: string) => text.isWellFormed() : isCleanText
  return (input, report) => {
    if (typeof input !== 'string') return report(MESSAGES.stringType)
    if (!isAllowed(input)) return report(MESSAGES.forbiddenCharacter)
    if (format === 'email') return parseEmail(input) ?? report(MESSAGES.email)
    const text = trimmed ? input.trim() : input
    const length = codePointLength(text)
    if (length < minLength) return report(RULE_MESSAGES.tooShort(minLength))
    if (length > maxLength) return report(RULE_MESSAGES.tooLong(maxLength))
    return text
  }
}

function compileEnum(values: readonly string[]): Parser {
  const message = RULE_MESSAGES.notOneOf(values)
  return (input, report) => (typeof input === 'string' && values.includes(input) ? input : report(message))
}

function parseBoolean(input: unknown, report: Report): unknown {
  return typeof input === 'boolean' ? input : report(MESSAGES.booleanType)
}

function parseBooleanText(input: unknown, report: Report): unknown {
  return parseBooleanWord(String(input)) ?? report(MESSAGES.booleanParsing)
}

function compileInteger({ minimum = 0, maximum, unbounded }: RequestSchema, form: ValueForm): Parser {
  const isText = form === 'text'
  const largest = maximum ?? (isText ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER)
  return (input, report) => {
    if (isText && !(typeof input === 'string' && /^\d+$/.test(input))) return report(MESSAGES.integerParsing)
    if (!isText && !Number.isInteger(input)) return report(MESSAGES.integerType)
    const value = Number(input)
    if (value < minimum) return report(RULE_MESSAGES.below(minimum))
    if (value > largest) return report(RULE_MESSAGES.above(largest))
    if (value <= Number.MAX_SAFE_INTEGER) return value
    // Numbers above 2^53 are not exact. No id or size is that large, so all of them become the largest exact integer.
    return unbounded ? BigInt(String(input)) : Number.MAX_SAFE_INTEGER
  }
}

function compileList({ minItems = 0, maxItems = Number.POSITIVE_INFINITY }: RequestSchema, parse: Parser): Parser {
  return (input, report) => {
    if (!Array.isArray(input)) return report(MESSAGES.listType)
    if (input.length < minItems) return report(RULE_MESSAGES.tooFewItems(minItems))
    if (input.length > maxItems) return report(RULE_MESSAGES.tooManyItems(maxItems))
    return input.map((item, index) => parse(item, (message, ...place) => report(message, index, ...place)))
  }
}

// A client may send any number of undeclared parameters, with names of any length.
const MAX_OTHERS_REPORTED = 20
const MAX_NAME_LENGTH = 64

/** An object whose fields its reader checks. */
function compileAnyObject({ maxLevels }: RequestSchema): Parser {
  return (input, report) => {
    if (!isObject(input)) return report(MESSAGES.objectType)
    return maxLevels === undefined || isStorable(input, maxLevels) ? input : report(RULE_MESSAGES.tooDeep(maxLevels))
  }
}

function compileObject({ properties = {}, required = [], atLeastOne, exactlyOne }: RequestSchema, form: ValueForm): Parser {
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    isRequired: required.includes(name),
    fallback: schema.default,
    isNullable: schema.nullable === true,
    isClearable: schema.clearable === true,
    parse: form === 'text' ? compileTextField(schema) : compile(schema, form),
  }))

  function parseFields(input: object, report: Report): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const { name, isRequired, fallback, isNullable, isClearable, parse } of fields) {
      const raw = ownField(input, name, { isNullable })
      if (raw === null && isClearable) value[name] = null
      else if (raw !== undefined) value[name] = parse(raw, (message, ...place) => report(message, name, ...place))
      else if (isRequired) report(MESSAGES.missing, name)
      else if (fallback !== undefined) value[name] = fallback
    }
    return value
  }

  /** Undeclared parameters are ignored. One that is repeated or cannot be decoded is an error: the client meant something else. */
  function checkOthers(input: object, report: Report): void {
    const others = Object.entries(input).filter(([name, raw]) => !Object.hasOwn(properties, name) && messageAboutText(raw))
    for (const [name, raw] of others.slice(0, MAX_OTHERS_REPORTED))
      report(messageAboutText(raw) ?? MESSAGES.repeated, name.slice(0, MAX_NAME_LENGTH))
  }

  return (input, report) => {
    if (!isObject(input)) return report(MESSAGES.objectType)
    const value = parseFields(input, report)
    if (form === 'text') checkOthers(input, report)
    if (atLeastOne && Object.keys(value).length === 0) report(RULE_MESSAGES.noneOf(Object.keys(properties)))
    if (exactlyOne && exactlyOne.filter((name) => Object.hasOwn(input, name)).length !== 1)
      report(RULE_MESSAGES.notExactlyOneOf(exactlyOne))
    return value
  }
}

/** The value that was sent under this name, never an inherited property such as `constructor`. */
function ownField(input: object, name: string, { isNullable }: { readonly isNullable: boolean }): unknown {
  const raw: unknown = Object.getOwnPropertyDescriptor(input, name)?.value
  return raw === null && isNullable ? undefined : raw
}

function compileTextField(schema: RequestSchema): Parser {
  if (schema.items || schema.properties) throw new Error(`request schemas do not support ${JSON.stringify(schema)} as text`)
  const parse = compile(schema, 'text')
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
