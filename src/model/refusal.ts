/**
 * Every reason to refuse a request, and what it says to people: on the pages and, where the command line has no text for operators, there.
 * The HTTP layer maps each to an answer for programs.
 */
export const REFUSALS = {
  not_authenticated: 'Sign in first.',
  token_invalid: 'This link or session is no longer valid.',
  token_expired: 'This link or session has expired.',
  already_verified: 'This email address is already verified.',
  key_invalid: 'This API key is not valid.',
  key_inactive: 'This API key is disabled.',
  key_expired: 'This API key has expired.',
  not_permitted: 'This request was refused. Open the page again and repeat what you did.',
  user_not_found: 'There is no such user. The account may have been deleted.',
  key_not_found: 'There is no such API key. It may have been deleted.',
  session_not_found: 'There is no such session. It may have ended.',
  email_taken: 'There is already an account with this email address.',
  wrong_credentials: 'Wrong email or password.',
  login_banned: 'This account is banned.',
  login_unverified:
    'Verify your email address before you sign in. Open the link in the email that we sent you, or request a new one below.',
  second_factor_required: 'This needs a second factor. Set one up, or confirm with it that it is you.',
  second_step: 'Enter the code from your app.',
  confirmation_required: 'Confirm that it is you.',
  invalid_code: 'This code is wrong, has expired or was used already.',
  code_refused: 'This code is wrong, has expired or was used already.',
  invalid_passkey: 'This passkey was not accepted.',
  passkey_refused: 'This passkey was not accepted.',
  invalid_challenge: 'This sign-in took too long, or was tried too often. Start again.',
  second_factor_on: 'Codes from an app are already on.',
  second_factor_off: 'Codes from an app are not on.',
  too_many_passkeys: 'This account has too many passkeys. Remove one that is no longer needed.',
  invitation_not_found: 'This invitation is no longer open: it was accepted, withdrawn or replaced by a newer one, or it has expired.',
  provider_not_found: 'This provider is not connected, or this service does not offer it.',
  provider_unavailable: 'The provider cannot be reached right now. Wait a moment, then try again, or sign in another way.',
  provider_refused: 'The sign-in was cancelled, or the answer of the provider could not be accepted.',
  provider_without_email: 'The provider did not tell us an email address. Allow it to, or sign in another way.',
  provider_taken: 'This account of the provider belongs to another account here, or your account has another one of this provider.',
  sign_in_ended: 'This sign-in was begun in another browser or tab, took too long, or was completed already.',
  only_way_in: 'This is the only way to sign in to your account. Set a password or add a passkey first.',
  passkey_not_found: 'There is no such passkey. It may have been removed.',
  ban_self: 'You cannot ban yourself.',
  last_admin: 'The last admin cannot be deleted. Make another user an admin first.',
  revoke_last_admin: 'The last admin stays an admin. Make another user an admin first.',
  no_session: 'There is no session to end.',
  too_many_keys: 'This account has too many API keys. Delete one that is no longer needed.',
  expiry_in_past: 'The date of expiry should be in the future.',
  unknown_scope: 'This scope does not exist.',
  unknown_plan: 'This plan does not exist.',
  no_key: 'Only an API key can revoke itself.',
  data_too_large: 'This is too large. Each object may have 16,384 bytes as JSON.',
  too_many_requests: 'Too many requests. Wait a moment, then try again.',
  limited: 'Too many requests. Wait a moment, then try again.',
  unavailable: 'The service cannot answer right now. Wait a moment, then try again.',
} as const satisfies Readonly<Record<string, string>>

export type RefusalCode = keyof typeof REFUSALS

export class Refusal extends Error {
  readonly code: RefusalCode

  /** The reason is only logged. It never contains a token, key, password or hash. */
  constructor(code: RefusalCode, reason?: string, options?: ErrorOptions) {
    super(reason ?? code, options)
    this.name = 'Refusal'
    this.code = code
  }
}

/** The client has disconnected, or the deadline has passed: work that is not committed yet must not be committed. */
export class Abandoned extends Refusal {
  constructor() {
    super('unavailable', 'the client has disconnected')
  }
}

/** A limit is exceeded. */
export class TooManyRequests extends Refusal {
  declare readonly code: 'too_many_requests' | 'limited'
  /** The time until a request would pass. */
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number, limit: string, code: 'too_many_requests' | 'limited' = 'too_many_requests') {
    super(code, limit)
    this.retryAfterSeconds = retryAfterSeconds
  }
}
