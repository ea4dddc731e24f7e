// A scope-token of RFC 6749, 3.3. A scope may be any text; only tokens can be listed in a string without ambiguity.
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** The scopes as one string, separated by spaces. A scope that is not a scope-token of RFC 6749 is left out. */
export function scopeString(scopes: readonly string[]): string {
  return scopes.filter((scope) => SCOPE_TOKEN.test(scope)).join(' ')
}

/** The scopes that a string names. */
export function parseScopeString(text: string): string[] {
  return text.split(' ').filter((scope) => scope !== '')
}
