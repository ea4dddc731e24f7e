type CamelName<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelName<Rest>>}` : Name

/** A body of the HTTP API, with the names of JavaScript: `first_name` becomes `firstName`. */
export type Camel<Body> = Body extends readonly (infer Item)[]
  ? Camel<Item>[]
  : Body extends object
    ? { [Name in keyof Body as CamelName<Name>]: Body[Name] }
    : Body

export function toCamel<Body>(body: Body): Camel<Body> {
  // The result has the same values under other names, which is what the type says.
  if (Array.isArray(body)) return body.map(toCamel) as Camel<Body>
  return renamed(body as object, (name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())) as Camel<Body>
}

export function toSnake(fields: object): object {
  return renamed(fields, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

function renamed(fields: object, rename: (name: string) => string): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [rename(name), value]))
}
