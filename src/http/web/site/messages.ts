import { ANSWERS, type Answer, type ErrorCode } from '../../answers/answers.ts'
import { MESSAGES, RULE_MESSAGES, type ValidationIssue } from '../../validation/validation-error.ts'
import { CONSOLE_TEXTS, type Texts } from '../texts/texts.ts'

/** The message of an answer. For a validation error, the message of its first issue. */
export function messageOf({ detail }: Answer): string {
  return typeof detail === 'string' ? detail : (detail[0]?.msg ?? '').replace(/^Value error, /, '')
}

/** The message of an answer, for a person. It depends on the code of the answer, and never on its text. */
export function personalMessage({ refusals, errors, publicErrors }: Texts, answer: Answer): string {
  const { code, status } = answer
  if (status === 429) return waitMessage(errors, Number(answer.headers['retry-after']))
  if (code === 'body_too_large') return errors.tooLarge
  const texts: Readonly<Partial<Record<ErrorCode, string>>> = refusals
  return texts[code] ?? (status >= 500 ? publicErrors.failed.message : errors.other(messageOf(answer)))
}

function waitMessage({ waitMinutes, waitSeconds }: Texts['errors'], seconds: number): string {
  return seconds > 90 ? waitMinutes(Math.ceil(seconds / 60)) : waitSeconds(seconds)
}

/** The message of an answer, for the reader of a mail who has opened its link: somebody who knows links, and no tokens. */
export function linkMessage(texts: Texts, answer: Answer): string {
  const { links } = texts
  if (answer === ANSWERS.token_expired) return links.expired
  if (answer === ANSWERS.user_not_found) return links.gone
  return answer.status === 422 || answer === ANSWERS.token_invalid ? links.invalid : personalMessage(texts, answer)
}

/** The type of an issue that a page has found itself. Its message is in the language of the reader. */
export const PAGE_ISSUE = 'page_error'
const EMPTY = RULE_MESSAGES.tooShort(1).msg
const [TOO_SHORT, TOO_LONG] = [RULE_MESSAGES.tooShort(0).type, RULE_MESSAGES.tooLong(0).type]

/** What is wrong with a field, by the name that the form gives it. Undefined for what only a program can get wrong. */
export function personalFieldMessage({ issues }: Texts, { type, msg }: ValidationIssue, label?: string): string | undefined {
  if (type === PAGE_ISSUE) return msg
  if (type === MESSAGES.missing.type || msg === EMPTY) return issues.required(label)
  if (type === TOO_SHORT) return issues.tooShort(numberIn(msg), label)
  if (type === TOO_LONG) return issues.tooLong(numberIn(msg), label)
  if (msg === MESSAGES.email.msg) return issues.email
  if (msg === MESSAGES.listedPassword.msg) return issues.listedPassword
  return msg === MESSAGES.forbiddenCharacter.msg ? issues.forbiddenCharacter : undefined
}

/** The same with the message of the API where there is no other. */
export function fieldMessage(texts: Texts, issue: ValidationIssue, label?: string): string {
  const text = issue.msg.replace(/^Value error, /, '').replace(/^Input should/, 'This should')
  return personalFieldMessage(texts, issue, label) ?? texts.errors.other(text.charAt(0).toUpperCase() + text.slice(1))
}

/** The value of the rule that a message of the API names. */
function numberIn(message: string): number {
  return Number(/\d+/.exec(message)?.[0])
}

/** The messages that only the console shows after a change. Those of the account pages are in the catalogues. */
const CONSOLE_NOTICES = {
  'first-admin-created': 'Your account has been created. You are the first admin of this service.',
  'admin-exists': 'This service already has an admin. Sign in, or ask an admin to create your account.',
  'user-created': 'The account has been created and is verified.',
  'user-verified': 'The account is verified.',
  'user-saved': 'The account has been saved.',
  'user-unchanged': 'Nothing was changed.',
  'user-demoted': 'The user is no longer an admin.',
  'user-sessions-ended': 'All sessions of the user have ended.',
  'own-sessions-ended': 'All other sessions of your account have ended.',
  'user-has-no-sessions': 'The user has no other session. Nothing was changed.',
  'invitation-created': 'The invitation exists, and its mail is in the outbox.',
  'invitation-resent': 'A mail with a new link is in the outbox. The former link no longer works.',
  'invitation-withdrawn': 'The invitation has been withdrawn. Its link no longer works.',
  'user-banned': 'The account is banned. Its sessions and API keys do not work.',
  'user-unbanned': 'The ban has been lifted.',
  'user-promoted': 'The user is now an admin.',
  'user-deleted': 'The account has been deleted, with its sessions and API keys.',
  'plan-changed': 'The plan of the account has been saved.',
  'data-saved': 'The data of the account has been saved.',
  'reset-sent': 'An email to reset the password is in the outbox. Its history is below.',
  'mail-retried': 'The email is due now and will be sent again.',
  'test-sent': 'The test mail was accepted. The answer is below.',
  'test-failed': 'The test mail was not accepted. The reason is below.',
  'mail-gone': 'This email is being sent, or is no longer in the outbox. Nothing was changed.',
  'webhook-retried': 'The webhook is due now and will be sent again.',
  'webhook-discarded': 'The webhook has been discarded.',
  'webhook-gone': 'This webhook is being sent, or is no longer waiting. Nothing was changed.',
  'webhooks-resumed': 'Webhooks are sent again.',
  'mail-discarded': 'The email has been discarded.',
  'factor-reset': 'Codes, recovery codes and passkeys of this user have been removed, and their sessions have ended.',
} as const

/** The code of a message that a page shows after a change. It is what the cookie carries: a cookie never contains text that is shown. */
export type Notice = keyof typeof CONSOLE_NOTICES | keyof Texts['notices']

/** These say that nothing was done. */
export const NEUTRAL_NOTICES: ReadonlySet<Notice> = new Set<Notice>([
  'admin-exists',
  'mail-gone',
  'user-unchanged',
  'user-has-no-sessions',
  'webhook-gone',
  'sign-in-ended',
  'factor-required',
  'connection-ended',
  'session-ended',
])

/** These say that something failed. */
export const BAD_NOTICES: ReadonlySet<Notice> = new Set<Notice>(['test-failed'])

export function isNotice(text: string): text is Notice {
  return Object.hasOwn(CONSOLE_NOTICES, text) || Object.hasOwn(CONSOLE_TEXTS.notices, text)
}

export function noticeText({ notices }: Texts, notice: Notice): string {
  const texts: Readonly<Record<Notice, string>> = { ...CONSOLE_NOTICES, ...notices }
  return texts[notice]
}
