/** The messages that a page shows after a change, by the code that its cookie carries. A cookie never contains text that is shown. */
export const NOTICES = {
  'signed-out': 'You are signed out.',
  'first-admin-created': 'Your account is created. You are the first admin of this service.',
  'admin-exists': 'This service already has an admin. Sign in, or ask an admin to create your account.',
  'profile-saved': 'Your name is saved.',
  'address-mailed': 'A mail with a link is on its way to the new address. Your address changes when you open it.',
  'password-changed': 'Your password is changed. All other sessions have ended.',
  'user-created': 'The account is created and verified.',
  'user-verified': 'The account is verified.',
  'user-banned': 'The account is banned. Its sessions and API keys no longer work.',
  'user-unbanned': 'The ban is lifted.',
  'user-promoted': 'The account is an admin now.',
  'user-deleted': 'The account is deleted, with its sessions and API keys.',
  'reset-sent': 'A password reset mail is on its way.',
  'session-revoked': 'The session is ended.',
  'sessions-revoked': 'The sessions are ended.',
  'key-disabled': 'The API key is disabled.',
  'key-enabled': 'The API key is enabled.',
  'key-revoked': 'The API key is deleted.',
  'mail-retried': 'The mail is sent again.',
  'mail-gone': 'This mail is being sent, or is no longer in the outbox. Nothing was changed.',
  'webhook-retried': 'The webhook is sent again.',
  'webhook-discarded': 'The webhook is discarded.',
  'webhook-gone': 'This webhook is being sent, or is no longer waiting. Nothing was changed.',
  'webhooks-resumed': 'Webhooks are sent again.',
  'mail-discarded': 'The mail is discarded.',
} as const

export type Notice = keyof typeof NOTICES

export function isNotice(text: string): text is Notice {
  return Object.hasOwn(NOTICES, text)
}
