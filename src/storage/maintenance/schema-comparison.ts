import type { Bit } from '../database.ts'

/** An object of a database schema, such as `trigger promote`, and its definition as the database prints it. */
export type SchemaObject = {
  readonly name: string
  readonly definition: string
  /** An index of plain columns, which neither refuses nor computes anything. */
  readonly isPlainIndex: Bit
}

/** How a schema differs from the one that the migrations create, in one line. */
export type SchemaDifference = {
  readonly message: string
  /** An additional plain index, which changes no data, refuses none and grants nothing. */
  readonly isHarmless: boolean
}

export function compareSchemas(expected: readonly SchemaObject[], found: readonly SchemaObject[]): SchemaDifference[] {
  const expectedByName = new Map(expected.map(({ name, definition }) => [name, definition]))
  const foundNames = new Set(found.map(({ name }) => name))
  const differences: SchemaDifference[] = []
  for (const { name, definition, isPlainIndex } of found) {
    const wanted = expectedByName.get(name)
    if (wanted === undefined) differences.push({ message: `${name} is not part of Latchkey`, isHarmless: Boolean(isPlainIndex) })
    else if (wanted !== definition) differences.push({ message: `${name} was changed`, isHarmless: false })
  }
  for (const name of expectedByName.keys()) {
    if (!foundNames.has(name)) differences.push({ message: `${name} is missing`, isHarmless: false })
  }
  return differences
}
