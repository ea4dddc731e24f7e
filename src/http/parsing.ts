import { parseEmail } from '../domain/email.ts'
import { codePointLength, isCleanText, parseBooleanWord } from '../domain/text.ts'
import {
  above,
  below,
  COMPLAINTS,
  type Complaint,
  type Fault,
  InvalidRequest,
  type Location,
  noneOf,
  notOneOf,
  tooLong,
  tooManyItems,
  tooShort,
} from './faults.ts'

/**
 * The part of JSON Schema that requests are described in. A keyword outside it stops the start, so that nothing
 * can be declared that is not checked. `trimmed` and `atLeastOne` are ours.
 */
export type FieldSchema = {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly trimmed?: boolean
  readonly nullable?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly items?: FieldSchema
  readonly default?: unknown
}

export type ObjectSchema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly atLeastOne?: boolean
}

/** Notes what is wrong with a field, or with one item of a list, and stands in for the value that there is none of. */
type Report = (complaint: Complaint, item?: number) => undefined
type FieldParser = (input: unknown, report: Report) => unknown

const FIELD_KEYWORDS = new Set([
  'type',
  'format',
  'enum',
  'trimmed',
  'nullable',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'maxItems',
  'items',
  'default',
  'description',
  'examples',
  'title',
])
const OBJECT_KEYWORDS = new Set(['type', 'properties', 'required', 'atLeastOne', 'description', 'examples', 'title', '$id'])
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Makes, from a schema, the function that turns one part of a request into a value of that schema. The value holds the
 * declared fields and nothing else: a field that is not declared cannot be applied by accident.
 */
export function compileParser(schema: ObjectSchema, location: Location): (input: unknown) => unknown {
  requireKnown(schema, OBJECT_KEYWORDS)
  const isText = location !== 'body'
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    isRequired: required.has(name),
    fallback: field.default,
    isNullable: field.nullable === true,
    parse: compileField(field, isText),
  }))

  function reportTo(faults: Fault[], name: string): Report {
    return (complaint, item) => {
      faults.push({ loc: item === undefined ? [location, name] : [location, name, item], ...complaint })
    }
  }

  function parseFields(input: object, faults: Fault[]): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const { name, isRequired, fallback, isNullable, parse } of fields) {
      const raw = ownField(input, name, isNullable)
      if (raw !== undefined) value[name] = parse(raw, reportTo(faults, name))
      else if (isRequired) faults.push({ loc: [location, name], ...COMPLAINTS.missing })
      else if (fallback !== undefined) value[name] = fallback
    }
    return value
  }

  return (input) => {
    if (input === undefined) throw new InvalidRequest([{ loc: [location], ...COMPLAINTS.missing }])
    if (!isPlainObject(input)) throw new InvalidRequest([{ loc: [location], ...COMPLAINTS.objectType }])
    const faults: Fault[] = []
    const value = parseFields(input, faults)
    if (schema.atLeastOne && Object.keys(value).length === 0) faults.push({ loc: [location], ...noneOf(fields.map(({ name }) => name)) })
    if (faults.length > 0) throw new InvalidRequest(faults)
    return value
  }
}

/** What was sent under this name: never something inherited, such as `constructor`. */
function ownField(input: object, name: string, isNullable: boolean): unknown {
  const raw: unknown = Object.getOwnPropertyDescriptor(input, name)?.value
  return raw === null && isNullable ? undefined : raw
}

function isPlainObject(input: unknown): input is object {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

function compileField(schema: FieldSchema, isText: boolean): FieldParser {
  requireKnown(schema, FIELD_KEYWORDS)
  const parse = compileType(schema, isText)
  if (!isText) return parse
  return (input, report) => (Array.isArray(input) ? report(COMPLAINTS.repeated) : parse(input, report))
}

function compileType(schema: FieldSchema, isText: boolean): FieldParser {
  if (schema.enum) return compileEnum(schema.enum)
  if (schema.type === 'string') return compileString(schema)
  if (schema.type === 'boolean') return isText ? parseBooleanText : parseBoolean
  if (schema.type === 'integer' && isText) return compileInteger(schema)
  if (schema.type === 'array' && schema.items && !isText) return compileList(schema.items, schema.maxItems ?? Number.POSITIVE_INFINITY)
  throw new Error(`a request cannot be described by ${JSON.stringify(schema)}`)
}

function compileString({ format, trimmed, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: FieldSchema): FieldParser {
  if (format === 'uuid') return parseUuid
  if (format === 'email') return parseEmailField
  const isAllowed = format === 'password' ? (text: string) => text.isWellFormed() : isCleanText
  if (format !== undefined && format !== 'password') throw new Error(`a request cannot be described by format ${format}`)
  return (input, report) => {
    if (typeof input !== 'string') return report(COMPLAINTS.stringType)
    if (!isAllowed(input)) return report(COMPLAINTS.forbiddenCharacter)
    const text = trimmed ? input.trim() : input
    const length = codePointLength(text)
    if (length < minLength) return report(tooShort(minLength))
    if (length > maxLength) return report(tooLong(maxLength))
    return text
  }
}

function parseEmailField(input: unknown, report: Report): unknown {
  if (typeof input !== 'string') return report(COMPLAINTS.stringType)
  if (!isCleanText(input)) return report(COMPLAINTS.forbiddenCharacter)
  const email = parseEmail(input)
  return email === undefined ? report(COMPLAINTS.email) : email
}

function parseUuid(input: unknown, report: Report): unknown {
  return typeof input === 'string' && UUID.test(input) ? input.toLowerCase() : report(COMPLAINTS.uuidParsing)
}

function compileEnum(words: readonly string[]): FieldParser {
  const complaint = notOneOf(words)
  return (input, report) => (typeof input === 'string' && words.includes(input) ? input : report(complaint))
}

function parseBoolean(input: unknown, report: Report): unknown {
  return typeof input === 'boolean' ? input : report(COMPLAINTS.booleanType)
}

function parseBooleanText(input: unknown, report: Report): unknown {
  return parseBooleanWord(String(input)) ?? report(COMPLAINTS.booleanParsing)
}

function compileInteger({ minimum = 0, maximum = Number.POSITIVE_INFINITY }: FieldSchema): FieldParser {
  return (input, report) => {
    if (typeof input !== 'string' || !/^\d+$/.test(input)) return report(COMPLAINTS.integerParsing)
    // Past 2^53 one number stands for many; no id, page or size is that large, so that the largest exact one serves for all.
    const value = Math.min(Number(input), Number.MAX_SAFE_INTEGER)
    if (value < minimum) return report(below(minimum))
    if (value > maximum) return report(above(maximum))
    return value
  }
}

function compileList(items: FieldSchema, maxItems: number): FieldParser {
  const parse = compileField(items, false)
  return (input, report) => {
    if (!Array.isArray(input)) return report(COMPLAINTS.listType)
    if (input.length > maxItems) return report(tooManyItems(maxItems))
    return input.map((item, index) => parse(item, (complaint) => report(complaint, index)))
  }
}

function requireKnown(schema: object, keywords: ReadonlySet<string>): void {
  const unknown = Object.keys(schema).find((keyword) => !keywords.has(keyword))
  if (unknown !== undefined) throw new Error(`a request cannot be described by the keyword ${unknown}`)
}
