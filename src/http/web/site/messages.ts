import { REFUSALS } from '../../../model/refusal.ts'
import { counted } from '../../../shared/text.ts'
import type { Answer, ErrorCode } from '../../answers/answers.ts'
import { MESSAGES, RULE_MESSAGES, type ValidationIssue } from '../../validation/validation-error.ts'

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

/** What a link in a mail is refused with. Its reader knows links, and no tokens. */
const LINK_TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  token_expired: 'This link has expired.',
  token_invalid: 'This link was used before, was replaced by a newer one, or is not complete.',
  user_not_found: 'The account of this link no longer exists.',
}

/** The message of an answer, for the reader of a mail who has opened its link. */
export function linkMessage(answer: Answer): string {
  return LINK_TEXTS[answer.status === 422 ? 'token_invalid' : answer.code] ?? personalMessage(answer)
}

function waitText(seconds: number): string {
  return seconds > 90 ? counted(Math.ceil(seconds / 60), 'minute') : counted(seconds, 'second')
}

const EMPTY = RULE_MESSAGES.tooShort(1).msg

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

/** The messages that a page shows after a change, by the code that its cookie carries. A cookie never contains text that is shown. */
export const NOTICES = {
  'signed-out': 'You are signed out.',
  'first-admin-created': 'Your account has been created. You are the first admin of this service.',
  'admin-exists': 'This service already has an admin. Sign in, or ask an admin to create your account.',
  'invitation-accepted': 'Your account has been created, and you are signed in.',
  'profile-saved': 'Your name has been saved.',
  'address-mailed': 'The new address gets an email with a link. Your address changes when you open the link.',
  'password-changed': 'Your password has been changed. All other sessions have ended.',
  'user-created': 'The account has been created and is verified.',
  'user-verified': 'The account is verified.',
  'user-saved': 'The account has been saved.',
  'user-unchanged': 'Nothing was changed.',
  'user-demoted': 'The user is no longer an admin.',
  'user-sessions-ended': 'All sessions of the user have ended.',
  'user-has-no-sessions': 'The user has no other session. Nothing was changed.',
  'invitation-created': 'The invitation exists, and its mail is in the outbox.',
  'invitation-resent': 'A mail with a new link is in the outbox. The former link no longer works.',
  'invitation-withdrawn': 'The invitation has been withdrawn. Its link no longer works.',
  'user-banned': 'The account is banned. Its sessions and API keys do not work.',
  'user-unbanned': 'The ban has been lifted.',
  'user-promoted': 'The user is now an admin.',
  'user-deleted': 'The account has been deleted, with its sessions and API keys.',
  'plan-changed': 'The plan of the account has been saved.',
  'limit-saved': 'The limit of the API key has been saved.',
  'data-saved': 'The data of the account has been saved.',
  'reset-sent': 'An email to reset the password is in the outbox. Its history is below.',
  'session-revoked': 'The session has ended.',
  'sessions-revoked': 'All other sessions have ended.',
  'key-disabled': 'The API key is disabled.',
  'key-enabled': 'The API key is enabled.',
  'key-deleted': 'The API key has been deleted.',
  'mail-retried': 'The email is due now and will be sent again.',
  'test-sent': 'The test mail was accepted. The answer is below.',
  'test-failed': 'The test mail was not accepted. The reason is below.',
  'mail-gone': 'This email is being sent, or is no longer in the outbox. Nothing was changed.',
  'webhook-retried': 'The webhook is due now and will be sent again.',
  'webhook-discarded': 'The webhook has been discarded.',
  'webhook-gone': 'This webhook is being sent, or is no longer waiting. Nothing was changed.',
  'webhooks-resumed': 'Webhooks are sent again.',
  'mail-discarded': 'The email has been discarded.',
  'sign-in-ended': 'This sign-in took too long, or was tried too often. Start again.',
  'factor-required': 'This service requires a second factor. Set up codes from an app or a passkey to continue.',
  'codes-off': 'Codes from an app are off. Your password alone signs you in.',
  'passkey-added': 'The passkey has been added.',
  'passkey-renamed': 'The passkey has a new name.',
  'passkey-removed': 'The passkey has been removed. Delete it on your device too.',
  'provider-connected': 'The account of the provider is connected. You can sign in with it.',
  'provider-disconnected': 'The account of the provider is no longer connected.',
  'connection-ended': 'Connecting took too long, or was completed already. Start again.',
  'factor-reset': 'Codes, recovery codes and passkeys of this user have been removed, and their sessions have ended.',
  'session-ended': 'Your session has ended. Sign in again.',
} as const

export type Notice = keyof typeof NOTICES

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
  return Object.hasOwn(NOTICES, text)
}
