import { compileField, type FieldSchema, messageAboutText, type Report, requireKnown, type ValueForm } from './field-parsing.ts'
import { InvalidRequest, type Location, MESSAGES, noneOf, tooFewItems, tooManyItems, type ValidationIssue } from './validation-error.ts'

export type ObjectSchema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly atLeastOne?: boolean
  /** A body that is not sent counts as an empty object. */
  readonly mayBeAbsent?: boolean
}

/** A body that is a list of objects. */
export type ListSchema = {
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
