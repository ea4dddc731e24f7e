import { type Claimed, type ClaimedMail, NOTICE_KINDS, type NoticeKind } from '../../model/mail.ts'

export type ClaimedNotice = Claimed<NoticeKind>

const MAX_ITEMS = 20

export function isNotice(mail: ClaimedMail): mail is ClaimedNotice {
  return NOTICE_KINDS.some((kind) => kind === mail.kind)
}

export function noticeTime({ requestedAt }: ClaimedNotice): string {
  return `${new Date(requestedAt).toISOString().slice(0, 16).replace('T', ' at ')} UTC`
}

/** A notice has no link: a reader must not get used to mails about security that lead to a page with a password field. */
export function noticeTexts(notice: ClaimedNotice, apiTitle: string, email: string) {
  const time = noticeTime(notice)
  const fine = 'If you did this, or asked for it, there is nothing to do.'
  switch (notice.kind) {
    case 'password_changed':
      return {
        purpose: 'your password was changed',
        subject: `Your password for ${apiTitle} was changed`,
        heading: 'Your password was changed',
        intro: `The password of the ${apiTitle} account with the address ${email} was changed on ${time}.`,
        notes: [
          fine,
          'If it was not you: request a password reset where you log in, which ends all sessions of the account. Then delete API keys that you do not know.',
        ],
      }
    case 'email_changed':
      return {
        purpose: 'your address was changed',
        subject: `The email address of your ${apiTitle} account was changed`,
        heading: 'Your email address was changed',
        intro: `The ${apiTitle} account with the address ${email} got another address on ${time}. This is the last mail about it that is sent to you here.`,
        notes: [
          fine,
          `If it was not you: contact the operator of ${apiTitle} at once, because a password reset no longer reaches you here.`,
        ],
      }
    case 'admin_role':
      return {
        purpose: 'your account is an admin',
        subject: `Your ${apiTitle} account is now an admin`,
        heading: 'Your account is now an admin',
        intro: `The ${apiTitle} account with the address ${email} got the admin role on ${time}. It can now change and delete the accounts of all users.`,
        notes: [fine, `If you did not expect this: change your password, and tell the other admins or the operator of ${apiTitle}.`],
      }
    case 'key_leaked':
      return {
        purpose: 'an API key was found in public',
        subject: `An API key of your ${apiTitle} account was found in public`,
        heading: 'An API key was found in public',
        intro: `An API key of the ${apiTitle} account with the address ${email} was found in public, reported on ${time}, and disabled. Programs that use it are refused.`,
        items: noticeItems(notice),
        notes: [
          'Create a new key for the programs that need one, and keep it out of public files. Removing the old one from the place where it was found is not enough: copies may exist.',
          'Check what was done with the key. If you do not know it, delete it and change your password.',
        ],
      }
    case 'factor_added':
    case 'factor_removed':
    case 'factor_reset':
    case 'passkey_added':
    case 'passkey_removed':
    case 'provider_connected':
    case 'provider_disconnected':
    case 'recovery_code_used': {
      const { heading, what, otherwise } = FACTOR_TEXTS[notice.kind]
      return {
        purpose: heading.toLowerCase(),
        subject: `${heading}: your ${apiTitle} account`,
        heading,
        intro: `${what} of the ${apiTitle} account with the address ${email} on ${time}.`,
        notes: [fine, otherwise],
      }
    }
  }
}

const INTRUDER =
  'If it was not you: change your password at once, which ends all other sessions, and check what your account can be opened with.'
const RESET_BY_OTHERS = 'If you did not ask for it: change your password at once, and tell the operator of the service.'

/** What has changed about the ways into an account. */
const FACTOR_TEXTS = {
  factor_added: {
    heading: 'Codes from an app were set up',
    what: 'Codes from an app, or new recovery codes, were set up for the sign-in',
    otherwise: INTRUDER,
  },
  factor_removed: {
    heading: 'Codes from an app were turned off',
    what: 'The codes from an app were turned off for the sign-in',
    otherwise: INTRUDER,
  },
  factor_reset: {
    heading: 'Your second factor was reset',
    what: 'An admin has removed the codes from an app, the recovery codes and the passkeys',
    otherwise: RESET_BY_OTHERS,
  },
  passkey_added: { heading: 'A passkey was added', what: 'A passkey was added to the sign-in', otherwise: INTRUDER },
  passkey_removed: { heading: 'A passkey was removed', what: 'A passkey was removed from the sign-in', otherwise: INTRUDER },
  provider_connected: {
    heading: 'An account of another provider was connected',
    what: 'An account of another provider was connected to the sign-in',
    otherwise: INTRUDER,
  },
  provider_disconnected: {
    heading: 'An account of another provider was disconnected',
    what: 'An account of another provider was disconnected from the sign-in',
    otherwise: INTRUDER,
  },
  recovery_code_used: { heading: 'A recovery code was used', what: 'A recovery code was used for the sign-in', otherwise: INTRUDER },
} as const satisfies Partial<Record<NoticeKind, unknown>>

// Anyone can register someone else's address, or name a key of an account that they broke into. A name that looks like a link or a message
// is left out of mails.
const UNSAFE_NAME = /[/\\:@]|\.\S|.{41}/u

export function isSafeName(name: string): boolean {
  return !UNSAFE_NAME.test(name)
}

/** What a notice names. Each line of the detail has the prefix of a key and its name. Old keys have no known prefix. */
export function noticeItems({ detail = '' }: ClaimedNotice): string[] {
  if (detail === '') return []
  const names = [...new Set(detail.split('\n').map(keyItem))]
  const others = names.length - MAX_ITEMS
  return others > 0 ? [...names.slice(0, MAX_ITEMS), `and ${others} more`] : names
}

function keyItem(line: string): string {
  const [prefix = '', ...words] = line.split(' ')
  const name = words.join(' ')
  if (prefix === '') return isSafeName(name) ? name : 'a key without a known prefix'
  return isSafeName(name) ? `${name} (${prefix}…)` : `a key that starts with ${prefix}`
}
