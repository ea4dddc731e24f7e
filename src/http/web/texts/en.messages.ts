import { REFUSALS, type RefusalCode } from '../../../model/refusal.ts'
import type { Format } from '../site/elements/format.ts'

/** What the pages say about a result: refusals, invalid fields, notices, and what a link in a mail leads to. */
export const createMessages = ({ plural }: Format) => ({
  refusals: REFUSALS as Readonly<Record<RefusalCode, string>>,
  errors: {
    waitSeconds: (count: number) =>
      plural(count, {
        one: 'Too many attempts. Try again in 1 second.',
        other: `Too many attempts. Try again in ${count} seconds.`,
      }),
    waitMinutes: (count: number) =>
      plural(count, {
        one: 'Too many attempts. Try again in 1 minute.',
        other: `Too many attempts. Try again in ${count} minutes.`,
      }),
    tooLarge: 'The form is too large to be sent.',
    failed: 'The service could not handle this request.',
    /** For an error without a text of its own. Its message is the one for programs, in English. */
    other: (message: string) => message,
    badAddress: 'The address of this page is not valid.',
    badLink:
      'The link that has led you here is not valid. Go back and try again. If that does not help, tell the operator of the page that you came from.',
    signedOut: 'You are signed out',
    sessionEnded: 'Your session has ended, so nothing was changed.',
    requestId: (id: string) => `Request ID: ${id}`,
    oneField: 'One field needs to be corrected.',
    someFields: 'Some fields need to be corrected.',
    notAllowed: 'Not allowed',
    notFound: 'Not found',
    tooMuch: 'Too much to send',
    invalid: 'This cannot be processed',
    tooMany: 'Too many attempts',
    unavailable: 'Temporarily unavailable',
    wrong: 'Something went wrong',
    refused: 'This was refused',
  },
  /** What is wrong with a field. Without a label, the field is not shown. */
  issues: {
    required: (label = 'This') => `${label} is required`,
    email: 'Enter a valid email address, such as name@example.com',
    tooShort: (count: number, label = 'This') =>
      plural(count, { one: `${label} should have at least 1 character`, other: `${label} should have at least ${count} characters` }),
    tooLong: (count: number, label = 'This') =>
      plural(count, { one: `${label} should have at most 1 character`, other: `${label} should have at most ${count} characters` }),
    listedPassword: 'This password is on a list of breached passwords',
    forbiddenCharacter: 'Control characters are not allowed',
  },
  notices: {
    'signed-out': 'You are signed out.',
    'invitation-accepted': 'Your account has been created, and you are signed in.',
    'profile-saved': 'Your name has been saved.',
    'language-saved': 'Your language has been saved.',
    'address-mailed': 'The new address gets an email with a link. Your address changes when you open the link.',
    'password-changed': 'Your password has been changed. All other sessions have ended.',
    'limit-saved': 'The limit of the API key has been saved.',
    'session-revoked': 'The session has ended.',
    'sessions-revoked': 'All other sessions have ended.',
    'key-disabled': 'The API key is disabled.',
    'key-enabled': 'The API key is enabled.',
    'key-deleted': 'The API key has been deleted.',
    'sign-in-ended': 'This sign-in took too long, or was tried too often. Start again.',
    'factor-required': 'This service requires a second factor. Set up codes from an app or a passkey to continue.',
    'codes-off': 'Codes from an app are off. Your password alone signs you in.',
    'passkey-added': 'The passkey has been added.',
    'passkey-renamed': 'The passkey has a new name.',
    'passkey-removed': 'The passkey has been removed. Delete it on your device too.',
    'provider-connected': 'The account of the provider is connected. You can sign in with it.',
    'provider-disconnected': 'The account of the provider is no longer connected.',
    'connection-ended': 'Connecting took too long, or was completed already. Start again.',
    'session-ended': 'Your session has ended. Sign in again.',
  },

  /** The pages that belong to no area. */
  publicErrors: {
    notFound: { title: 'Page not found', message: 'There is no page at this address.', advice: 'Check the address for typos.' },
    unavailable: {
      title: 'Temporarily unavailable',
      message: 'The service cannot answer right now.',
      advice: 'Wait a moment, then reload this page.',
    },
    refused: {
      title: 'This request is not supported',
      message: 'The address exists, but it does not accept this kind of request.',
      advice: 'Go back and try the link again.',
    },
    failed: {
      title: 'Something went wrong',
      message: 'The service could not handle this request.',
      advice: 'Try again later. If the problem persists, send the request ID below to the operator of this service.',
    },
  },
  links: {
    close: 'You can close this page.',
    /** Of somebody who knows links, and no tokens. */
    expired: 'This link has expired.',
    invalid: 'This link was used before, was replaced by a newer one, or is not complete.',
    gone: 'The account of this link no longer exists.',
    expiredTitle: 'This link has expired',
    invalidTitle: 'This link does not work',
    goneTitle: 'This account no longer exists',
    goneAdvice: 'The account was deleted. Sign up again to create a new one.',
    verification: {
      done: { title: 'Your address is verified', text: 'You can now sign in.' },
      again: { title: 'Your address is already verified', text: 'You can sign in.' },
      expired: 'Verification links work for 24 hours. Request a new verification email, and open the link in it.',
      invalid: 'Open the complete link from your latest verification email, or request a new one.',
    },
    address: {
      done: { title: 'Your new address is confirmed', text: 'Use it to sign in from now on.' },
      again: { title: 'Your new address is already confirmed', text: 'Use it to sign in.' },
      expired:
        'Links work once, within 24 hours, and a newer one replaces them. Change the address of your account again to get a new link.',
      invalid:
        'Links work once, within 24 hours, and a newer one replaces them. Change the address of your account again to get a new link.',
      takenTitle: 'This address is taken',
      taken: 'Another account has started to use this address. Sign in to that account, or choose another address.',
    },
    reset: {
      done: { title: 'Password successfully reset', text: 'You can now sign in with your new password.' },
      failed: 'The password cannot be reset',
      advice: 'Each link works once, within 30 minutes. Request a new password reset email and open the link in it.',
      limited: 'Then open the link in the email again.',
      newPassword: 'The new password',
    },
    provider: {
      title: 'You are not signed in',
      unreachable: 'The provider cannot be reached',
      unknown: 'There is no such provider',
      ended: 'This sign-in has ended',
      banned: 'This account is banned',
      unverified: 'Verify your address first',
      advice: 'Start again, or sign in another way.',
      invalidAdvice: 'You can also sign in another way.',
      bannedAdvice: 'Ask the operator of this service about it.',
      unverifiedAdvice: 'Open the link in the verification email, then sign in again.',
      takenAdvice: 'Sign in with it to see which account it belongs to, and disconnect it there first.',
    },
  },

  /** What the script of the pages shows. */
  script: {
    copied: 'Copied',
    selected: 'Selected',
    noPasskeyUsed: 'No passkey was used. Try again.',
    noPasskeyCreated: 'No passkey was created. Try again.',
    hasPasskey: 'This device already has a passkey for your account.',
  },
})

export type Messages = ReturnType<typeof createMessages>
