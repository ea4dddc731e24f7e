/** Makes a value when it is first asked for, and only once. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** An object whose members are made when they are first read, and only once. */
export function lazily<Members extends object>(makers: { readonly [Name in keyof Members]: () => Members[Name] }): Readonly<Members> {
  const members = {}
  for (const name of Object.keys(makers) as (keyof Members)[])
    Object.defineProperty(members, name, { enumerable: true, get: once(makers[name]) })
  // The cast is safe: each maker has become the member of its name.
  return members as Members
}
