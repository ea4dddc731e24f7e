declare global {
  interface JSON {
    /** Part of ECMAScript; the types of TypeScript lack it. */
    rawJSON(text: string): unknown
  }
}

type Schema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

/**
 * Compiles the schema of a response into a function that writes a value as JSON: the declared fields in the declared order,
 * optional ones last, and no others. A field that a handler leaves in by mistake, such as a hash, is never sent.
 */
export function compileSerializer(schema: object): (value: unknown) => string {
  const pick = compilePick(schema)
  return (value) => JSON.stringify(pick(value))
}

type Pick = (value: unknown) => unknown

/** A page number of a request may be beyond 2^53, and is repeated digit by digit. */
function pickInteger(value: unknown): unknown {
  if (typeof value === 'bigint') return JSON.rawJSON(String(value))
  if (value === null || Number.isInteger(value)) return value
  throw new Error('the response has another value in place of an integer')
}

function compilePick({ type, properties, required = [], items }: Schema): Pick {
  if (type === 'integer') return pickInteger
  if (items !== undefined) {
    const pickItem = compilePick(items)
    return (value) => (Array.isArray(value) ? value.map(pickItem) : value)
  }
  if (properties === undefined) return (value) => value
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    pick: compilePick(schema),
    isRequired: required.includes(name),
  }))
  // The optional fields follow, such as those that a client asks for with `?details=true`.
  fields.sort((one, other) => Number(other.isRequired) - Number(one.isRequired))
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const picked: Record<string, unknown> = {}
    for (const { name, pick, isRequired } of fields) {
      const field = (value as Record<string, unknown>)[name]
      if (field !== undefined) picked[name] = pick(field)
      else if (isRequired) throw new Error(`the response lacks ${name}, which its schema requires`)
    }
    return picked
  }
}
