import { codePointLength, isCleanText, PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from './text.ts'

export const NAME_MAX_LENGTH = 100

/** Returns a name as it is stored, without white space at its ends; undefined if it is not a valid name. */
export function parseName(text: string): string | undefined {
  const name = text.trim()
  return isCleanText(text) && name !== '' && codePointLength(name) <= NAME_MAX_LENGTH ? name : undefined
}

/** Whether an account may have this password. The same rule applies to requests, the command line and the settings. */
export function isPassword(text: string): boolean {
  const length = codePointLength(text)
  return text.isWellFormed() && length >= PASSWORD_MIN_LENGTH && length <= PASSWORD_MAX_LENGTH
}

/** The prefix of new API keys, unless a setting names another. */
export const DEFAULT_KEY_PREFIX = 'lk'
const KEY_PREFIX = /^[a-z0-9]{2,16}$/

export function isKeyPrefix(text: string): boolean {
  return KEY_PREFIX.test(text)
}

/** The longest time that a former secret of a rotated key may work: 30 days. */
export const MAX_OVERLAP_SECONDS = 30 * 24 * 60 * 60

export const MAX_SCOPES = 50
export const SCOPE_MAX_LENGTH = 100

/** Whether an API key may carry this scope. */
export function isScope(text: string): boolean {
  return isCleanText(text) && text !== '' && codePointLength(text) <= SCOPE_MAX_LENGTH
}

/** Of one account. */
export const MAX_PASSKEYS = 20

// A scope-token of RFC 6749, 3.3: it can be named among others in one string.
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

export function isScopeToken(text: string): boolean {
  return SCOPE_TOKEN.test(text)
}

/** Whether the service knows these scopes. Where the settings list none, it knows all of them. */
export function areKnownScopes(scopes: readonly string[], known: readonly string[] | undefined): boolean {
  return known === undefined || scopes.every((scope) => known.includes(scope))
}
