import { codePointLength, isCleanText } from './text.ts'

/** Lengths in code points (decisions on accounts). A request, the command line and the settings are held to the same ones. */
export const NAME_LENGTH = { min: 1, max: 100 } as const
export const PASSWORD_LENGTH = { min: 8, max: 256 } as const

/** A name as it is stored, without white space at its ends; undefined when it is none. */
export function parseName(text: string): string | undefined {
  const name = text.trim()
  const length = codePointLength(name)
  return isCleanText(text) && length >= NAME_LENGTH.min && length <= NAME_LENGTH.max ? name : undefined
}

export function isPassword(text: string): boolean {
  const length = codePointLength(text)
  return text.isWellFormed() && length >= PASSWORD_LENGTH.min && length <= PASSWORD_LENGTH.max
}
