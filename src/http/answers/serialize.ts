type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

/**
 * Compiles the schema of a response into a function that writes a value as JSON: the declared fields in the declared order, and no others.
 * A field that a handler leaves in by mistake, such as a hash, is never sent.
 */
export function compileSerializer(schema: object): (value: unknown) => string {
  const pick = compilePick(schema)
  return (value) => JSON.stringify(pick(value))
}

type Pick = (value: unknown) => unknown

function compilePick({ properties, required = [], items }: Schema): Pick {
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
