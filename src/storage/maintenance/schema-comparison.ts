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
  /** It concerns a trigger, a rule, a policy or a function, which the database runs by itself. */
  readonly isCode: boolean
}

const CODE = /^(?:trigger|rule|policy|function) /

export function compareSchemas(expected: readonly SchemaObject[], found: readonly SchemaObject[]): SchemaDifference[] {
  const expectedByName = new Map(expected.map(({ name, definition }) => [name, definition]))
  const foundNames = new Set(found.map(({ name }) => name))
  const differences: SchemaDifference[] = []
  const add = (name: string, problem: string, isHarmless = false) =>
    differences.push({ message: `${name} ${problem}`, isHarmless, isCode: CODE.test(name) })
  for (const { name, definition, isPlainIndex } of found) {
    const wanted = expectedByName.get(name)
    if (wanted === undefined) add(name, 'is not part of Latchkey', Boolean(isPlainIndex))
    else if (wanted !== definition) add(name, 'was changed')
  }
  for (const name of expectedByName.keys()) {
    if (!foundNames.has(name)) add(name, 'is missing')
  }
  return differences
}
