import type { LinkMailKind, NoticeKind } from '../../../model/mail.ts'
import { durationIn, type Names, type NamesAndTime, type Notes, signInChange } from './formats.ts'

const FINE = 'If you did this, or asked for it, there is nothing to do.'
const INTRUDER =
  'If it was not you: change your password at once, which ends all other sessions, and check which ways there are to sign in to your account.'
const signInChanged = signInChange({ account: ({ title }) => `: your ${title} account`, notes: [FINE, INTRUDER] })

/** Every text of a mail that its reader sees. The other languages have the same entries. */
export const EN = {
  duration: durationIn('en'),
  time: (at: number) => `${new Date(at).toISOString().slice(0, 16).replace('T', ' at ')} UTC`,
  greeting: 'Hello,',
  greetingTo: (name: string) => `Hello ${name},`,
  footer: ({ title, email }: Names) => `This mail was sent by ${title} to ${email}. Please do not reply: replies are not read.`,
  plainLink: 'If the button does not work, copy this link into your browser:',
  linkWorks: (lifetime: string) => `The link works once, within ${lifetime}.`,
  codeWorks: (lifetime: string) => `The code works once, within ${lifetime}.`,
  eitherWorks: (lifetime: string) => `Either works once, within ${lifetime}.`,
  moreKeys: (count: number) => `and ${count} more`,
  keyWithoutPrefix: 'a key without a known prefix',
  keyWithPrefix: (prefix: string) => `a key that starts with ${prefix}`,
  mails: {
    verify: {
      subject: ({ title }: Names) => `Verify your email address for ${title}`,
      heading: 'Verify your email address',
      intro: ({ title, email }: Names) =>
        `Welcome to ${title}. To activate your account, open the link below and confirm that ${email} is your address.`,
      action: 'Verify email address',
      note: 'If you did not create this account, ignore this mail. The account cannot be used without the link.',
    },
    reset: {
      subject: ({ title }: Names) => `Reset your password for ${title}`,
      heading: 'Reset your password',
      intro: ({ title, email }: Names) =>
        `We received a request to reset the ${title} password for ${email}. Open the link below to choose a new password.`,
      action: 'Choose a new password',
      note: 'If you did not request this, ignore this mail. Your password stays the same. Do not share the link with anyone.',
    },
    email_change: {
      subject: ({ title }: Names) => `Confirm your new email address for ${title}`,
      heading: 'Confirm your new email address',
      intro: ({ title, email }: Names) =>
        `We received a request to use ${email} as the address of a ${title} account. Open the link below to confirm that it is your address.`,
      action: 'Confirm email address',
      note: 'If you did not request this, ignore this mail and do not open the link. No account uses your address without it.',
    },
    sign_in: {
      subject: ({ title }: Names) => `Your sign-in code for ${title}`,
      heading: 'Your sign-in code',
      intro: ({ title, email }: Names) =>
        `We received a request to sign in to ${title} as ${email}. Enter this code where you asked to sign in, or open the link:`,
      action: 'Sign in',
      note: 'If you did not request this, ignore this mail. Nobody can sign in without the code or the link. Do not share them with anyone.',
    },
    invitation: {
      subject: ({ title }: Names) => `Your invitation for ${title}`,
      heading: 'Your invitation',
      intro: ({ title, email }: Names) =>
        `You are invited to ${title} with the address ${email}. Open the link below to choose a password and to sign in.`,
      action: 'Accept the invitation',
      note: 'If you did not expect this, ignore this mail. There is no account until you accept.',
    },
  },
  notices: {
    password_changed: {
      subject: ({ title }: Names) => `Your password for ${title} was changed`,
      heading: 'Your password was changed',
      intro: ({ title, email, time }: NamesAndTime) =>
        `The password of the ${title} account with the address ${email} was changed on ${time}.`,
      notes: (_: Names): Notes => [
        FINE,
        'If it was not you: request a password reset where you sign in, which ends all sessions of the account. Then delete API keys that you do not know.',
      ],
    },
    email_changed: {
      subject: ({ title }: Names) => `The email address of your ${title} account was changed`,
      heading: 'Your email address was changed',
      intro: ({ title, email, time }: NamesAndTime) =>
        `The ${title} account with the address ${email} got another address on ${time}. This is the last mail about it that is sent to you here.`,
      notes: ({ title }: Names): Notes => [
        FINE,
        `If it was not you: contact the operator of ${title} at once, because a password reset no longer reaches you here.`,
      ],
    },
    admin_role: {
      subject: ({ title }: Names) => `Your ${title} account is now an admin`,
      heading: 'Your account is now an admin',
      intro: ({ title, email, time }: NamesAndTime) =>
        `The ${title} account with the address ${email} got the admin role on ${time}. It can now change and delete the accounts of all users.`,
      notes: ({ title }: Names): Notes => [
        FINE,
        `If you did not expect this: change your password, and tell the other admins or the operator of ${title}.`,
      ],
    },
    key_leaked: {
      subject: ({ title }: Names) => `An API key of your ${title} account was found in public`,
      heading: 'An API key was found in public',
      intro: ({ title, email, time }: NamesAndTime) =>
        `An API key of the ${title} account with the address ${email} was found in public, reported on ${time}, and disabled. Programs that use it are refused.`,
      notes: (_: Names): Notes => [
        'Create a new key for the programs that need one, and keep it out of public files. Removing the old one from the place where it was found is not enough: copies may exist.',
        'Check what was done with the key. If you do not know it, delete it and change your password.',
      ],
    },
    factor_added: signInChanged({
      heading: 'Codes from an app were set up',
      intro: ({ title, email, time }) =>
        `Codes from an app, or new recovery codes, were set up for the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
    factor_removed: signInChanged({
      heading: 'Codes from an app were turned off',
      intro: ({ title, email, time }) =>
        `The codes from an app were turned off for the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
    factor_reset: signInChanged({
      heading: 'Your second factor was reset',
      intro: ({ title, email, time }) =>
        `An admin has removed the codes from an app, the recovery codes and the passkeys of the ${title} account with the address ${email} on ${time}.`,
      advice: 'If you did not ask for it: change your password at once, and tell the operator of the service.',
    }),
    passkey_added: signInChanged({
      heading: 'A passkey was added',
      intro: ({ title, email, time }) => `A passkey was added to the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
    passkey_removed: signInChanged({
      heading: 'A passkey was removed',
      intro: ({ title, email, time }) =>
        `A passkey was removed from the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
    provider_connected: signInChanged({
      heading: 'An account of another provider was connected',
      intro: ({ title, email, time }) =>
        `An account of another provider was connected to the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
    provider_disconnected: signInChanged({
      heading: 'An account of another provider was disconnected',
      intro: ({ title, email, time }) =>
        `An account of another provider was disconnected from the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
    recovery_code_used: signInChanged({
      heading: 'A recovery code was used',
      intro: ({ title, email, time }) =>
        `A recovery code was used for the sign-in of the ${title} account with the address ${email} on ${time}.`,
    }),
  },
} satisfies { readonly mails: Record<LinkMailKind, unknown>; readonly notices: Record<NoticeKind, unknown> } & Record<string, unknown>

/** An entry that is missing, or one too many, does not compile. */
export type MailTexts = typeof EN
