import { isUtf8 } from 'node:buffer'

// Control characters, lone surrogates, line and paragraph separators, the marks that change the writing direction, and the characters
// that no text may contain.
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu
// JSON escapes the first control characters and lone surrogates itself. Its line breaks are those between its elements.
const UNSAFE_IN_JSON = /[\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g

/** One line of text for a terminal: characters that would control it, or reorder the text, appear as `\x1b` or `\u202e`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0)
    return code <= 0xff ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`
  })
}

/** The same JSON, with the characters escaped that `printable` escapes. */
export function printableJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (character) => `\\u${hex(character.charCodeAt(0), 4)}`)
}

/** A file name as text. A byte that is not part of UTF-8 appears as `\xff`. */
export function nameText(name: Buffer): string {
  if (isUtf8(name)) return name.toString()
  let text = ''
  for (let at = 0; at < name.length; ) {
    const character = [1, 2, 3, 4].map((length) => name.subarray(at, at + length)).find(isUtf8)
    text += character?.toString() ?? `\\x${hex(name[at] ?? 0, 2)}`
    at += character?.length ?? 1
  }
  return text
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}

/** "1 mail", "2 mails" */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** "20 minutes", "3 hours" or "12 days": in the largest unit of which there are two or more. */
export function countedTime(ms: number): string {
  if (ms >= 2 * DAY_MS) return counted(Math.floor(ms / DAY_MS), 'day')
  if (ms >= 2 * HOUR_MS) return counted(Math.floor(ms / HOUR_MS), 'hour')
  return counted(Math.round(ms / MINUTE_MS), 'minute')
}
