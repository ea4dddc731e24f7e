import { REFUSALS } from '../../../model/refusal.ts'
import { counted } from '../../../shared/counted.ts'
import type { Answer, ErrorCode } from '../../answers/answers.ts'
import { MESSAGES, tooShort, type ValidationIssue } from '../../validation/validation-error.ts'

/** What a page says about errors that no rule refuses. */
const TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = { ...REFUSALS, body_too_large: 'The form is too large to be sent.' }

/** The message of an answer. For a validation error, the message of its first issue. */
export function messageOf({ detail }: Answer): string {
  return typeof detail === 'string' ? detail : (detail[0]?.msg ?? '').replace(/^Value error, /, '')
}

/** The message of an answer, for a person. */
export function personalMessage(answer: Answer): string {
  if (answer.status === 429) return `Too many requests. Try again in ${waitText(Number(answer.headers['retry-after']))}.`
  return TEXTS[answer.code] ?? (answer.status >= 500 ? 'The service could not handle this request.' : messageOf(answer))
}

function waitText(seconds: number): string {
  return seconds > 90 ? counted(Math.ceil(seconds / 60), 'minute') : counted(seconds, 'second')
}

const EMPTY = tooShort(1).msg

/** What is wrong with a field, by the name that the form gives it. */
export function fieldMessage({ type, msg }: ValidationIssue, label = 'This'): string {
  if (type === MESSAGES.missing.type || msg === EMPTY) return `${label} is required`
  if (msg === MESSAGES.email.msg) return 'Enter a valid email address, such as name@example.com'
  const text = msg
    .replace(/^Value error, /, '')
    .replace(/^String should/, `${label} should`)
    .replace(/^Input should/, 'This should')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
