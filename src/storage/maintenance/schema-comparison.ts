/** An object of a database schema, such as `trigger promote`, and its definition as the database prints it. */
export type SchemaObject = { readonly name: string; readonly definition: string }

/** How a schema differs from the one that the migrations create, in one line. */
export type SchemaDifference = {
  readonly message: string
  /** Only an index of the operator: it changes no data and grants nothing. */
  readonly isHarmless: boolean
}

export function compareSchemas(expected: readonly SchemaObject[], found: readonly SchemaObject[]): SchemaDifference[] {
  const expectedByName = new Map(expected.map(({ name, definition }) => [name, definition]))
  const foundByName = new Map(found.map(({ name, definition }) => [name, definition]))
  const differences: SchemaDifference[] = []
  for (const [name, definition] of foundByName) {
    const wanted = expectedByName.get(name)
    if (wanted === undefined) differences.push({ message: `${name} is not part of Latchkey`, isHarmless: name.startsWith('index ') })
    else if (wanted !== definition) differences.push({ message: `${name} was changed`, isHarmless: false })
  }
  for (const name of expectedByName.keys()) {
    if (!foundByName.has(name)) differences.push({ message: `${name} is missing`, isHarmless: false })
  }
  return differences
}
