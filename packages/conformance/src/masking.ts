const SECRET_FIELDS = new Set(['password', 'new_password', 'token', 'refresh', 'code', 'key'])
const SHORTEST_SECRET = 6

/** Replaces secrets in what is printed, so that a report can be passed on. */
export type Masking = {
  /** Notes a secret by the name of its field. */
  note(name: string, secret: string): void
  /** Notes the secrets in the fields of a body. */
  noteFields(body: unknown): void
  mask(text: string): string
}

export function createMasking(): Masking {
  const names = new Map<string, string>()

  function note(name: string, secret: string): void {
    // A header is sent, and quoted in errors, without the spaces around it.
    const text = secret.trim()
    if (text.length < SHORTEST_SECRET) return
    names.set(text, `<${name}>`)
    // As a form or a query contains it.
    names.set(String(new URLSearchParams({ '': text })).slice(1), `<${name}>`)
  }

  function noteFields(body: unknown): void {
    if (typeof body !== 'object' || body === null) return
    for (const [name, value] of Object.entries(body)) {
      if (SECRET_FIELDS.has(name) && typeof value === 'string') note(name, value)
    }
  }

  return {
    note,
    noteFields,
    mask(text) {
      // Longest first: one secret may be a part of another.
      const secrets = [...names].sort(([one], [other]) => other.length - one.length)
      return secrets.reduce((masked, [secret, name]) => masked.replaceAll(secret, name), text)
    },
  }
}
