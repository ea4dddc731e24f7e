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

export const MAX_SCOPES = 50
export const SCOPE_MAX_LENGTH = 100

/** Whether an API key may carry this scope. */
export function isScope(text: string): boolean {
  return isCleanText(text) && text !== '' && codePointLength(text) <= SCOPE_MAX_LENGTH
}
