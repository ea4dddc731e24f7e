/** What a statement takes and returns for a column. */
export type Stored = string | number | boolean | null

export type FieldKind = 'integer' | 'text' | 'choice' | 'flag' | 'instant' | 'texts' | 'object'

/** How the values of a field are stored in a column, and how they are written as JSON. */
export type Field<Value, Json = Value> = {
  /** How an import checks a value of this field. */
  readonly kind: FieldKind
  /** The values of a choice. */
  readonly choices?: readonly string[]
  /** The expression of a field that no column holds. It is read, and never written. */
  readonly sql?: string
  /** The column, where it is not called like the field. */
  readonly column?: string
  fromColumn(stored: unknown): Value
  toColumn(value: Value): Stored
  toJson(value: Value): Json
}

// The database holds what toColumn() wrote; its columns have these types.
function plain<Value extends Stored>(kind: FieldKind): Field<Value> {
  return { kind, fromColumn: (stored) => stored as Value, toColumn: (value) => value, toJson: (value) => value }
}

export const integer = plain<number>('integer')
export const text = plain<string>('text')
export function choice<Value extends string>(...choices: readonly Value[]): Field<Value> {
  return { ...plain<Value>('choice'), choices }
}
/** SQLite stores 0 and 1. */
export const flag: Field<boolean> = { ...plain<boolean>('flag'), fromColumn: Boolean }
/** Milliseconds since 1970; in JSON an ISO 8601 timestamp in UTC. */
export const instant: Field<number, string> = { ...integer, kind: 'instant', toJson: isoTime }
/** A list that is stored as JSON. */
export const texts: Field<readonly string[], string[]> = {
  kind: 'texts',
  fromColumn: (stored) => (stored === '[]' ? [] : (JSON.parse(String(stored)) as string[])),
  toColumn: (value) => JSON.stringify(value),
  toJson: (value) => [...value],
}

/** An object that is stored as JSON. Empty where there is no row. */
export const object: Field<JsonObject> = {
  kind: 'object',
  fromColumn: (stored) => JSON.parse(String(stored ?? '{}')) as JsonObject,
  toColumn: (value) => JSON.stringify(value),
  toJson: (value) => value,
}

/** A field that may be unknown: undefined here, null in the database and in JSON. */
export function optional<Value, Json>(field: Field<Value, Json>): Field<Value | undefined, Json | null> {
  return {
    ...field,
    fromColumn: (stored) => (stored === null || stored === undefined ? undefined : field.fromColumn(stored)),
    toColumn: (value) => (value === undefined ? null : field.toColumn(value)),
    toJson: (value) => (value === undefined ? null : field.toJson(value)),
  }
}

/** A field that may be unknown and is null everywhere, as the seals of the audit trail contain it. */
export function orNull<Value, Json>(field: Field<Value, Json>): Field<Value | null, Json | null> {
  return {
    ...field,
    fromColumn: (stored) => (stored === null ? null : field.fromColumn(stored)),
    toColumn: (value) => (value === null ? null : field.toColumn(value)),
    toJson: (value) => (value === null ? null : field.toJson(value)),
  }
}

/** A field that is computed when it is read. */
export function computed<Value, Json>(field: Field<Value, Json>, sql: string): Field<Value, Json> {
  return { ...field, sql }
}

/** A field whose column has another name. */
export function storedAs<Value, Json>(column: string, field: Field<Value, Json>): Field<Value, Json> {
  return { ...field, column }
}

export type Fields = Readonly<Record<string, Field<unknown, unknown>>>
/** A field that may be undefined can be left out. */
export type ValuesOf<F extends Fields> = {
  readonly [Name in keyof F as undefined extends ValueOf<F[Name]> ? never : Name]: ValueOf<F[Name]>
} & { readonly [Name in keyof F as undefined extends ValueOf<F[Name]> ? Name : never]?: ValueOf<F[Name]> }
/** Any of the fields. */
export type Given<F extends Fields> = { readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined }
type ValueOf<F> = F extends Field<infer Value, infer _> ? Value : never
export type JsonOf<F extends Fields> = {
  [Name in keyof F & string as SnakeCase<Name>]: F[Name] extends Field<infer _, infer Json> ? Json : never
}
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name

export type Entity<F extends Fields> = {
  readonly table: string
  /** For an entity that has more fields. */
  readonly fields: F
  /** The columns of a `select`, in the order of the fields. */
  readonly columns: string
  /** The names of the columns that can be written. */
  readonly columnNames: readonly string[]
  /** The names of the same fields in JSON. */
  readonly jsonNames: readonly string[]
  /** From a row with the names of the columns. */
  fromRow(row: Readonly<Record<string, unknown>>): ValuesOf<F>
  /** The values of `columnNames`, in this order. */
  toValues(values: ValuesOf<F>): Stored[]
  /** The given fields by the names of their columns, for a statement that takes rows as JSON. */
  toRow(values: Given<F>): Record<string, Stored>
  /** With the names and values of the API. */
  toJson(values: ValuesOf<F>): JsonOf<F>
}

/** `firstName` is stored and shown as `first_name`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function isoTime(time: number): string {
  return new Date(time).toISOString()
}

/** The fields of an entity are stated once. Its type, columns, rows and JSON derive from them. */
export function entity<F extends Fields>(table: string, fields: F): Entity<F> {
  const all = Object.entries(fields).map(([name, field]) => ({
    name,
    field,
    json: snakeCase(name),
    column: field.column ?? snakeCase(name),
  }))
  const written = all.filter(({ field }) => field.sql === undefined)
  return {
    table,
    fields,
    columns: all.map(({ column, field: { sql } }) => (sql === undefined ? `${table}.${column}` : `${sql} as ${column}`)).join(', '),
    columnNames: written.map(({ column }) => column),
    jsonNames: written.map(({ json }) => json),
    fromRow(row) {
      const read: Record<string, unknown> = {}
      for (const { name, field, column } of all) read[name] = field.fromColumn(row[column])
      return read as ValuesOf<F>
    },
    toValues(values) {
      const given: Readonly<Record<string, unknown>> = values
      return written.map(({ name, field }) => field.toColumn(given[name]))
    },
    toRow(values) {
      const given: Readonly<Record<string, unknown>> = values
      const row: Record<string, Stored> = {}
      for (const { name, field, column } of written) if (given[name] !== undefined) row[column] = field.toColumn(given[name])
      return row
    },
    toJson(values) {
      const given: Readonly<Record<string, unknown>> = values
      const json: Record<string, unknown> = {}
      for (const { name, field, json: key } of all) json[key] = field.toJson(given[name])
      return json as JsonOf<F>
    },
  }
}

/** The same with fewer fields. */
export function without<F extends Fields, Name extends keyof F>(
  { table, fields }: Entity<F>,
  ...names: readonly Name[]
): Entity<{ readonly [Kept in Exclude<keyof F, Name>]: F[Kept] }> {
  const left: readonly unknown[] = names
  const kept = Object.entries(fields).filter(([name]) => !left.includes(name))
  return entity(table, Object.fromEntries(kept) as { readonly [Kept in Exclude<keyof F, Name>]: F[Kept] })
}

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
