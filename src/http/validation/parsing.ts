import { compileField, complaintAboutText, type FieldSchema, type Report, requireKnown } from './field-parsing.ts'
import { COMPLAINTS, type Fault, InvalidRequest, type Location, noneOf } from './validation-error.ts'

export type ObjectSchema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly atLeastOne?: boolean
}

/** Stands for a query or a form of more parameters than are read. */
export const TOO_MANY_PARAMETERS: Record<string, unknown> = Object.freeze(Object.create(null))

// Of parameters that nobody asks for. They are made up by whoever sends them, and there may be many.
const MAX_OTHERS_TOLD = 20
const MAX_NAME_LENGTH = 64

const OBJECT_KEYWORDS = new Set(['type', 'properties', 'required', 'atLeastOne', 'description', 'examples', 'title', '$id'])

/**
 * Makes, from a schema, the function that turns one part of a request into a value of that schema. The value holds the
 * declared fields and nothing else: a field that is not declared cannot be applied by accident.
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

  /** A parameter that nobody asks for is let be, unless it comes twice or garbled: then the request is not what its sender meant. */
  function checkOthers(input: object, faults: Fault[]): void {
    const others: Fault[] = []
    for (const [name, raw] of Object.entries(input)) {
      const complaint = declared.has(name) ? undefined : complaintAboutText(raw)
      if (complaint) others.push({ loc: [location, name.slice(0, MAX_NAME_LENGTH)], ...complaint })
    }
    faults.push(...others.slice(0, MAX_OTHERS_TOLD))
  }

  return (input) => {
    if (input === undefined) throw new InvalidRequest([{ loc: [location], ...COMPLAINTS.missing }])
    if (input === TOO_MANY_PARAMETERS) throw new InvalidRequest([{ loc: [location], ...COMPLAINTS.tooManyParameters }])
    if (!isPlainObject(input)) throw new InvalidRequest([{ loc: [location], ...COMPLAINTS.objectType }])
    const faults: Fault[] = []
    const value = parseFields(input, faults)
    if (isText) checkOthers(input, faults)
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
