import type { TSchema as AnySchema, Static as StaticOf, Type as TypeBox } from 'typebox'
import { NAME_MAX_LENGTH } from '../../domain/values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../../domain/values/text.ts'

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

/** A field that may be left out: the parser fills in its default, so that a handler always has a value. */
export function defaulted<Schema extends TSchema>(schema: Schema): Schema {
  return Type.Optional(schema) as unknown as Schema
}

/** The value, or null. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema> | null>({ ...schema, nullable: true })
}

type Rules = Readonly<Record<string, unknown>>

/** A text with the rules for it, its description and an example. */
export function text(description: string, example: string, rules: Rules = {}) {
  return Type.String({ ...rules, description, examples: [example] })
}

export function integer(description: string, example: number, rules: Rules = {}) {
  return Type.Integer({ ...rules, description, examples: [example] })
}

/** A time. It arrives as text with an offset, and is a number inside. */
export function instant<Empty = never>(description: string, example: string, rules: Rules = {}) {
  return Type.Unsafe<number | Empty>(text(description, example, { ...rules, format: 'date-time' }))
}

/** A time in a response. */
export function timestamp(description: string, example = '2026-01-31T09:30:00.000Z') {
  return Type.String({ format: 'date-time', description, examples: [example] })
}

export function flag(description: string, example: boolean) {
  return Type.Boolean({ description, examples: [example] })
}

// Three base64url parts, as in every token: `{"alg":"HS256"}`, `{"sub":"7"}` and a signature that is not valid.
export const TOKEN_EXAMPLE = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl'

/** The fields that several requests share. */
export const Email = Type.String({
  format: 'email',
  maxLength: 254,
  description: 'An e-mail address. Case does not matter.',
  examples: ['mia@example.com'],
})
export const NewPassword = Type.String({
  format: 'password',
  minLength: PASSWORD_MIN_LENGTH,
  maxLength: PASSWORD_MAX_LENGTH,
  description: 'The new password, used exactly as it is sent.',
  examples: ['correct horse battery'],
})
/** A password that is only compared: if it is too short or too long, it is wrong, not invalid. */
export const GivenPassword = Type.String({
  format: 'password',
  description: 'The password of the account.',
  examples: ['correct horse battery'],
})
export const FirstName = nameField('The first name. Leading and trailing white space is removed.', 'Mia')
export const LastName = nameField('The last name. Leading and trailing white space is removed.', 'Muster')

export function nameField(description: string, example: string) {
  return Type.String({ trimmed: true, minLength: 1, maxLength: NAME_MAX_LENGTH, description, examples: [example] })
}

/** The token rules check the length and the format of a token and answer 401, so the schema does not restrict them. */
export function tokenField(description: string) {
  return text(description, TOKEN_EXAMPLE)
}
