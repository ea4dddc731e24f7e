import type { RefusalCode } from '../../model/refusal.ts'
import { MESSAGES, type ValidationIssue } from '../validation/validation-error.ts'

type Row = {
  readonly status: number
  readonly detail: string | readonly ValidationIssue[]
  /** For docs/errors.md, which lists all of them. */
  readonly when: string
  readonly headers: Readonly<Record<string, string>>
}

/** The value of `X-Error-Code`: stable, and one to one with the detail. Some refusals share the answer of another one. */
export type ErrorCode = keyof typeof ROWS

/** The response to an error. Its headers contain the code, so that whatever sends them sends the code. */
export type Answer = Row & { readonly code: ErrorCode }

const NO_CREDENTIAL = { 'www-authenticate': 'Bearer' }
const BAD_CREDENTIAL = { 'www-authenticate': 'Bearer error="invalid_token"' }
const TRY_AGAIN = { 'retry-after': '2' }

/** A row of the table. The types keep the status and the detail. */
function row<Status extends number, const Detail extends Row['detail']>(status: Status, detail: Detail, when: string, headers = {}) {
  return { status, detail, when, headers }
}

const ROWS = {
  not_authenticated: row(401, 'Not authenticated. Use either JWT token or API key.', 'no credentials were sent', NO_CREDENTIAL),
  token_invalid: row(
    401,
    'That token is Invalid',
    'the token is malformed, of the wrong kind, wrongly signed or already used; its session has ended; its user is banned, deleted or, on protected routes, not verified; a link that verifies or confirms an address is opened again, in which case a browser gets a page that says so',
    BAD_CREDENTIAL,
  ),
  token_expired: row(401, 'That token has Expired', 'a valid token is past its expiry', BAD_CREDENTIAL),
  key_invalid: row(401, 'Invalid API key', 'the key is unknown or malformed, or its owner is banned or not verified', BAD_CREDENTIAL),
  key_inactive: row(401, 'API key is inactive', 'the key is disabled', BAD_CREDENTIAL),
  key_expired: row(401, 'API key has expired', 'the key is past its `expires_at`', BAD_CREDENTIAL),
  not_permitted: row(
    403,
    'Not enough permissions',
    'the caller is not an admin, the account belongs to another user, or the access of the API key does not cover the route',
  ),
  user_not_found: row(404, 'User not Found', 'there is no such user'),
  key_not_found: row(404, 'API key not found', 'there is no such key, or it belongs to another user'),
  session_not_found: row(404, 'Session not found', 'the session has ended, or belongs to another user'),
  email_taken: row(400, 'A User with this email already exists', 'an account already has this address, in any case'),
  wrong_credentials: row(
    400,
    'Wrong email or password',
    'login with an unknown address or a wrong password, or `DELETE /users/me` or `POST /users/me/password` with a wrong password',
  ),
  login_banned: row(401, 'This User is banned', 'login with the right password to a banned account', NO_CREDENTIAL),
  login_unverified: row(
    401,
    'You need to verify your Email before logging in',
    'login with the right password to an account that is not verified',
    NO_CREDENTIAL,
  ),
  second_factor_required: row(
    403,
    'Second factor required',
    'the session has no second factor, or the owner of the key has none, where one is required; at login with status 401, a `challenge` and the `methods` of the second step',
  ),
  confirmation_required: row(
    403,
    'Confirm that it is you',
    'the session was opened or confirmed over ten minutes ago; see `POST /users/me/confirm`',
  ),
  invalid_code: row(
    400,
    'Invalid code',
    'a code of an app or a recovery code is wrong or was used already; at login with status 401, also for the link or the code of a sign-in mail',
  ),
  invalid_passkey: row(
    400,
    'Invalid passkey',
    'an authenticator did not sign what was asked for, or its passkey is unknown; at login with status 401',
  ),
  invalid_challenge: row(
    401,
    'Invalid challenge',
    'the challenge of a login is over five minutes old, was used, had five wrong codes, or the account has changed',
    NO_CREDENTIAL,
  ),
  second_factor_on: row(400, 'Second factor is already on', 'codes of an app are set up a second time'),
  second_factor_off: row(400, 'Second factor is not on', 'codes of an app are not on'),
  too_many_passkeys: row(400, 'Too many passkeys', 'the user already has 20 passkeys'),
  provider_not_found: row(404, 'Provider not found', 'the settings name no such provider, or the account is not connected to it'),
  provider_unavailable: row(503, 'Provider is unavailable', 'a sign-in provider cannot be reached, or does not answer in time', TRY_AGAIN),
  provider_refused: row(
    401,
    'Provider sign-in failed',
    'a sign-in was cancelled at its provider, or the answer of the provider is not valid',
    NO_CREDENTIAL,
  ),
  provider_without_email: row(400, 'Provider named no email', 'a provider named no valid address of somebody who has no account yet'),
  provider_taken: row(
    400,
    'Provider account is already connected',
    'an account of a provider belongs to another account, or the account has another one of it',
  ),
  sign_in_ended: row(
    400,
    'Sign-in has ended',
    'a provider leads back to a browser that has not begun the sign-in, has begun another one since, or has completed it',
  ),
  only_way_in: row(400, 'This is the only way to sign in', 'the account has neither a password nor anything else that opens it'),
  passkey_not_found: row(404, 'Passkey not found', 'there is no such passkey, or it belongs to another user'),
  invitation_not_found: row(404, 'Invitation not found', 'there is no such invitation, or it was accepted or has expired'),
  ban_self: row(400, 'You cannot ban yourself', 'an admin bans their own account'),
  last_admin: row(400, 'Cannot delete the last admin user', 'the account to delete is the only admin'),
  revoke_last_admin: row(
    400,
    'Cannot revoke the last admin',
    'the account whose role is revoked is the only admin, or revokes its own and no other admin can log in',
  ),
  no_session: row(400, 'Only a session can be logged out', 'logout with an API key'),
  too_many_keys: row(400, 'Too many API keys', 'the user already has 1,000 keys'),
  no_key: row(400, 'Only an API key can revoke itself', '`DELETE /auth/key` with a session'),
  data_too_large: row(413, 'Data is too large', '`profile` or `app` would have more than 16,384 bytes as JSON'),
  // Sent with the time until the next request passes.
  too_many_requests: row(
    429,
    'Too many requests',
    'a limit of `RATE_LIMITS`, of a plan or of an API key is exceeded; `Retry-After` has the seconds until the next request passes; at `GET /auth/check?limited=403` with status 403',
    TRY_AGAIN,
  ),
  unavailable: row(
    503,
    'Service Unavailable',
    'the database is not reachable, or too many passwords are waiting to be hashed; see `Retry-After`',
    TRY_AGAIN,
  ),
  bad_request: row(
    400,
    'Bad Request',
    'the bytes are not an HTTP request, a proxy could read the request differently, or the target contains `#` or, in its path, a backslash; the connection is closed',
  ),
  path_not_found: row(404, 'Not Found', 'there is no such path'),
  method_not_allowed: row(405, 'Method Not Allowed', 'the path does not support the method; `Allow` lists those that it supports'),
  request_timeout: row(408, 'Request Timeout', 'headers took longer than 15 seconds, or the whole request longer than 30'),
  body_too_large: row(413, 'Request body is too large', 'a body over 64 KiB, or chunks with extensions over 16 KiB'),
  expectation_failed: row(417, 'Expectation Failed', 'an `Expect` header other than `100-continue`'),
  // The detail of a 422 is the list of its validation issues.
  invalid_request: row(422, [], 'the path, the query or the body is invalid'),
  headers_too_large: row(431, 'Request Header Fields Too Large', 'headers over 16 KiB'),
  internal_error: row(
    500,
    'Internal Server Error',
    'an error of the service; the log has the reason, with the request id of `X-Request-Id`',
  ),
} satisfies Readonly<Record<string, Row>>

const ENTRIES = Object.entries(ROWS).map(([code, row]) => [code, { ...row, code, headers: { 'x-error-code': code, ...row.headers } }])
// One entry for each row, under its key.
const CODED = Object.fromEntries(ENTRIES) as { readonly [Code in ErrorCode]: Answer & (typeof ROWS)[Code] }

/** The one place where an error becomes an HTTP response. A refusal without a row does not compile. */
export const ANSWERS = {
  ...CODED,
  // The same response as to an invalid token. Only the page that the link opens says more.
  already_verified: { ...CODED.token_invalid },
  // The same codes and details as elsewhere, with the status of a login that failed.
  second_step: { ...CODED.second_factor_required, status: 401 },
  code_refused: { ...CODED.invalid_code, status: 401 },
  // For proxies that know no 429.
  limited: { ...CODED.too_many_requests, status: 403 },
  passkey_refused: { ...CODED.invalid_passkey, status: 401 },
  // The field is invalid, although only the clock of the service shows it.
  expiry_in_past: { ...CODED.invalid_request, detail: [{ loc: ['body', 'expires_at'], ...MESSAGES.instantInPast }] },
  unknown_plan: { ...CODED.invalid_request, detail: [{ loc: ['body', 'plan'], ...MESSAGES.unknownPlan }] },
  unknown_scope: { ...CODED.invalid_request, detail: [{ loc: ['body', 'scopes'], ...MESSAGES.unknownScope }] },
} as const satisfies Readonly<Record<RefusalCode | ErrorCode, Answer>>
