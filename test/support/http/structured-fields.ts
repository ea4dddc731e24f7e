import assert from 'node:assert/strict'

export type Item = { readonly value: string; readonly parameters: Readonly<Record<string, number | string>> }

/** Reads a List of Strings with parameters (RFC 9651, sections 4.2.1 to 4.2.5). Fails the test for anything else. */
export function readList(field: unknown): Item[] {
  assert.ok(typeof field === 'string', `${String(field)} is not a field`)
  let rest = field
  const items: Item[] = []

  function take(pattern: RegExp, what: string): string {
    const [found] = pattern.exec(rest) ?? assert.fail(`${what} expected at "${rest}" of "${field}"`)
    rest = rest.slice(found.length)
    return found
  }

  function string(): string {
    const quoted = take(/^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/, 'a String')
    return quoted.slice(1, -1).replace(/\\(["\\])/g, '$1')
  }

  function parameter(): [string, number | string] {
    take(/^; */, 'a semicolon')
    const key = take(/^[a-z*][a-z0-9_.*-]*/, 'a key')
    take(/^=/, 'a value')
    return [key, rest.startsWith('"') ? string() : Number(take(/^-?\d{1,15}(?![\d.])/, 'an Integer'))]
  }

  for (;;) {
    const value = string()
    const parameters: [string, number | string][] = []
    while (rest.startsWith(';')) parameters.push(parameter())
    items.push({ value, parameters: Object.fromEntries(parameters) })
    if (rest === '') return items
    take(/^[ \t]*,[ \t]*(?=.)/, 'a comma')
  }
}
