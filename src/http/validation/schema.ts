import type { TSchema as AnySchema, Static as StaticOf, Type as TypeBox } from 'typebox'

export type Static<Schema extends AnySchema> = StaticOf<Schema>
export type TSchema = AnySchema

type Options = Readonly<Record<string, unknown>>
type Names = 'Array' | 'Boolean' | 'Enum' | 'Integer' | 'Literal' | 'Object' | 'Optional' | 'String' | 'Union' | 'Unknown' | 'Unsafe'

// A symbol is copied along with a schema, but never appears in its JSON.
const OPTIONAL = Symbol('optional')

const builders: Readonly<Record<Names, (...args: never[]) => object>> = {
  Array: (items: object, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Options) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly unknown[], options?: Options) => ({ enum: values, ...options }),
  Integer: (options?: Options) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Object(properties: Readonly<Record<string, object>>, options?: Options) {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})))
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
  },
  Optional: (schema: object) => ({ ...schema, [OPTIONAL]: true }),
  String: (options?: Options) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly object[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: object) => schema,
}

/**
 * The part of TypeBox that the routes use: its types, and functions that build JSON Schema. Importing TypeBox itself would load
 * several hundred modules at every start for these few functions. The cast gives them the types of TypeBox; a test compares their
 * results with those of TypeBox.
 */
export const Type = builders as unknown as Pick<typeof TypeBox, Names>

/** The value, or null. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema> | null>({ ...schema, nullable: true })
}
