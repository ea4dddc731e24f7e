import { isDeepStrictEqual } from 'node:util'
import type { ErrorCode } from '../answers/answers.ts'
import type { RequestSchema } from '../validation/parsing.ts'

/** A schema as routes declare it: JSON Schema with the extensions that parsing.ts implements. */
export type DeclaredSchema = Omit<RequestSchema, 'items' | 'properties'> & {
  readonly title?: string
  readonly description?: string
  readonly const?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, DeclaredSchema>>
  readonly items?: DeclaredSchema
  readonly anyOf?: readonly DeclaredSchema[]
  readonly contentMediaType?: string
  /** The schemas of a body by content type. */
  readonly content?: Readonly<Record<string, { readonly schema: DeclaredSchema }>>
  /** The codes of an error response. */
  readonly codes?: readonly ErrorCode[]
  readonly answer?: { readonly description: string; readonly example: unknown }
}

export type Components = {
  /** Translates a schema to OpenAPI. A schema with a title becomes a component, so that generated clients have a type of that name. */
  refer(schema: DeclaredSchema): object
  readonly schemas: Record<string, object>
}

export function createComponents(): Components {
  const schemas: Record<string, object> = {}

  function refer({ title, ...schema }: DeclaredSchema): object {
    const translated = translate(schema)
    if (title === undefined) return translated
    const known = schemas[title]
    if (known !== undefined && !isDeepStrictEqual(known, translated)) throw new Error(`two different schemas have the title ${title}`)
    schemas[title] = translated
    return { $ref: `#/components/schemas/${title}` }
  }

  /** Omits the default: type generators treat a field with a default as required. The description names the default instead. */
  function referField({ default: _, ...field }: DeclaredSchema): object {
    return refer(field)
  }

  function translate(schema: DeclaredSchema): object {
    const { trimmed, unbounded, nullable, clearable, atLeastOne, exactlyOne, mayBeAbsent, maxLevels, ...shown } = schema
    const { codes, answer, properties, items, anyOf, type, enum: names, ...plain } = shown
    return {
      ...(nullable || clearable ? orNull(type, names) : { ...(type && { type }), ...(names && { enum: names }) }),
      ...plain,
      ...(properties && { properties: mapValues(properties, referField) }),
      ...(items && { items: refer(items) }),
      ...(anyOf && { anyOf: anyOf.map(refer) }),
      // An approximation: the service ignores unknown fields, but they count towards minProperties.
      ...((atLeastOne || exactlyOne) && { minProperties: 1 }),
      ...(exactlyOne && { maxProperties: 1 }),
    }
  }

  return { refer, schemas }
}

/** A value of this type, or null. Without a type it is one of the names. */
function orNull(type = 'string', names?: readonly string[]): object {
  return { type: [type, 'null'], ...(names && { enum: [...names, null] }) }
}

/** An example of a schema, assembled from the examples of its parts. */
export function sampleOf(schema: DeclaredSchema): unknown {
  if (schema.answer?.example !== undefined) return schema.answer.example
  const [example = schema.const ?? schema.default] = schema.examples ?? schema.enum ?? []
  if (example !== undefined) return example
  if (schema.properties) {
    const sample = mapValues(schema.properties, sampleOf)
    return schema.exactlyOne ? Object.fromEntries(Object.entries(sample).slice(0, 1)) : sample
  }
  if (schema.items) return [sampleOf(schema.items)]
  if (schema.anyOf?.[0]) return sampleOf(schema.anyOf[0])
  throw new Error(`a schema has no example: ${JSON.stringify(schema)}`)
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
