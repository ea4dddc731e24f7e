const CONTROL_CHARACTER = /\p{Cc}/u

/** NUL and its kin break databases, logs and mail headers; a lone surrogate is silently replaced on its way to storage. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !CONTROL_CHARACTER.test(text)
}

/** Length in code points, as a person counts and as the limits of the specification mean it. */
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

/** A boolean as people write it in a query or a setting, in any case; undefined when it is none. */
export function parseBooleanWord(text: string): boolean | undefined {
  return BOOLEAN_WORDS.get(text.toLowerCase())
}

export const PASSWORD_MIN_LENGTH = 8
export const PASSWORD_MAX_LENGTH = 256
