import { compileField, type FieldSchema, messageAboutText, type Report, requireKnown } from './field-parsing.ts'
import { InvalidRequest, type Location, MESSAGES, noneOf, type ValidationIssue } from './validation-error.ts'

export type ObjectSchema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly atLeastOne?: boolean
}

/** The parsed form of a query or a form with too many parameters. */
export const TOO_MANY_PARAMETERS: Record<string, unknown> = Object.freeze(Object.create(null))

// A client may send any number of undeclared parameters, with names of any length.
const MAX_OTHERS_REPORTED = 20
const MAX_NAME_LENGTH = 64

const OBJECT_KEYWORDS = new Set(['type', 'properties', 'required', 'atLeastOne', 'description', 'examples', 'title', '$id'])

/**
 * Compiles a schema into a function that parses one part of a request. The result contains the declared fields only, so an
 * undeclared field cannot be applied by accident.
 */
export function compileParser(schema: ObjectSchema, location: Location, isText = location !== 'body'): (input: unknown) => unknown {
  requireKnown(schema, OBJECT_KEYWORDS)
  const required = new Set(schema.required)
  const declared = new Set(Object.keys(schema.properties ?? {}))
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    isRequired: required.has(name),
    fallback: field.default,
    isNullable: field.nullable === true,
    parse: compileField(field, isText),
  }))

  function reportTo(issues: ValidationIssue[], name: string): Report {
    return (message, item) => {
      issues.push({ loc: item === undefined ? [location, name] : [location, name, item], ...message })
    }
  }

  function parseFields(input: object, issues: ValidationIssue[]): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const { name, isRequired, fallback, isNullable, parse } of fields) {
      const raw = ownField(input, name, isNullable)
      if (raw !== undefined) value[name] = parse(raw, reportTo(issues, name))
      else if (isRequired) issues.push({ loc: [location, name], ...MESSAGES.missing })
      else if (fallback !== undefined) value[name] = fallback
    }
    return value
  }

  /** Undeclared parameters are ignored. One that is repeated or cannot be decoded is an error: the client meant something else. */
  function checkOthers(input: object, issues: ValidationIssue[]): void {
    const others: ValidationIssue[] = []
    for (const [name, raw] of Object.entries(input)) {
      const message = declared.has(name) ? undefined : messageAboutText(raw)
      if (message) others.push({ loc: [location, name.slice(0, MAX_NAME_LENGTH)], ...message })
    }
    issues.push(...others.slice(0, MAX_OTHERS_REPORTED))
  }

  return (input) => {
    if (input === undefined) throw new InvalidRequest([{ loc: [location], ...MESSAGES.missing }])
    if (input === TOO_MANY_PARAMETERS) throw new InvalidRequest([{ loc: [location], ...MESSAGES.tooManyParameters }])
    if (!isPlainObject(input)) throw new InvalidRequest([{ loc: [location], ...MESSAGES.objectType }])
    const issues: ValidationIssue[] = []
    const value = parseFields(input, issues)
    if (isText) checkOthers(input, issues)
    if (schema.atLeastOne && Object.keys(value).length === 0) issues.push({ loc: [location], ...noneOf(fields.map(({ name }) => name)) })
    if (issues.length > 0) throw new InvalidRequest(issues)
    return value
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
