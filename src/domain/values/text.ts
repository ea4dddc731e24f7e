const CONTROL_CHARACTER = /\p{Cc}/u

/** Control characters break databases, logs and mail headers. A lone surrogate would be replaced silently when it is stored. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !CONTROL_CHARACTER.test(text)
}

/** The length in code points, which is what the limits of the specification count. */
export function codePointLength(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}

const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['no', false],
  ['off', false],
])

/** Reads a boolean of a query or a setting, in any case; undefined if the text is not a boolean. */
export function parseBooleanWord(text: string): boolean | undefined {
  return BOOLEAN_WORDS.get(text.toLowerCase())
}

export const PASSWORD_MIN_LENGTH = 8
export const PASSWORD_MAX_LENGTH = 256
