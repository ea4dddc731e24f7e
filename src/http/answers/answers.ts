import type { RefusalCode } from '../../model/refusal.ts'
import { MESSAGES, type ValidationIssue } from '../validation/validation-error.ts'

/** Errors of the request itself, before any rule of the domain has a say. */
type RequestErrorCode =
  | 'bad_request'
  | 'path_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'expectation_failed'
  | 'invalid_request'
  | 'headers_too_large'
  | 'internal_error'

/** The value of `X-Error-Code`: stable, and one to one with the detail. */
export type ErrorCode = Exclude<RefusalCode, 'already_verified' | 'expiry_in_past'> | RequestErrorCode

type Row = {
  readonly status: number
  readonly detail: string | readonly ValidationIssue[]
  /** For docs/errors.md, which lists all of them. */
  readonly when: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The response to an error. Its headers contain the code, so that whatever sends them sends the code. */
export type Answer = Row & { readonly code: ErrorCode; readonly headers: Readonly<Record<string, string>> }

const NO_CREDENTIAL = { 'www-authenticate': 'Bearer' }
const BAD_CREDENTIAL = { 'www-authenticate': 'Bearer error="invalid_token"' }
const TRY_AGAIN = { 'retry-after': '2' }

const ROWS = {
  not_authenticated: {
    status: 401,
    detail: 'Not authenticated. Use either JWT token or API key.',
    headers: NO_CREDENTIAL,
    when: 'no credentials were sent',
  },
  token_invalid: {
    status: 401,
    detail: 'That token is Invalid',
    headers: BAD_CREDENTIAL,
    when: 'the token is malformed, of the wrong kind, wrongly signed or already used; its session has ended; its user is banned, deleted or, on protected routes, not verified; a link that verifies or confirms an address is opened again, in which case a browser gets a page that says so',
  },
  token_expired: { status: 401, detail: 'That token has Expired', headers: BAD_CREDENTIAL, when: 'a valid token is past its expiry' },
  key_invalid: {
    status: 401,
    detail: 'Invalid API key',
    headers: BAD_CREDENTIAL,
    when: 'the key is unknown or malformed, or its owner is banned or not verified',
  },
  key_inactive: { status: 401, detail: 'API key is inactive', headers: BAD_CREDENTIAL, when: 'the key is disabled' },
  key_expired: { status: 401, detail: 'API key has expired', headers: BAD_CREDENTIAL, when: 'the key is past its `expires_at`' },
  not_permitted: {
    status: 403,
    detail: 'Not enough permissions',
    when: 'the caller is not an admin, the account belongs to another user, or the access of the API key does not cover the route',
  },
  user_not_found: { status: 404, detail: 'User not Found', when: 'there is no such user' },
  key_not_found: { status: 404, detail: 'API key not found', when: 'there is no such key, or it belongs to another user' },
  session_not_found: { status: 404, detail: 'Session not found', when: 'the session has ended, or belongs to another user' },
  email_taken: { status: 400, detail: 'A User with this email already exists', when: 'an account already has this address, in any case' },
  wrong_credentials: {
    status: 400,
    detail: 'Wrong email or password',
    when: 'login with an unknown address or a wrong password, or `DELETE /users/me` with a wrong password',
  },
  login_banned: {
    status: 401,
    detail: 'This User is banned',
    headers: NO_CREDENTIAL,
    when: 'login with the right password to a banned account',
  },
  login_unverified: {
    status: 401,
    detail: 'You need to verify your Email before logging in',
    headers: NO_CREDENTIAL,
    when: 'login with the right password to an account that is not verified',
  },
  ban_self: { status: 400, detail: 'You cannot ban yourself', when: 'an admin bans their own account' },
  last_admin: { status: 400, detail: 'Cannot delete the last admin user', when: 'the account to delete is the only admin' },
  no_session: { status: 400, detail: 'Only a session can be logged out', when: 'logout with an API key' },
  too_many_keys: { status: 400, detail: 'Too many API keys', when: 'the user already has 1,000 keys' },
  no_key: { status: 400, detail: 'Only an API key can revoke itself', when: '`DELETE /auth/key` with a session' },
  // Sent with the time until the next request passes.
  too_many_requests: {
    status: 429,
    detail: 'Too many requests',
    headers: TRY_AGAIN,
    when: 'a limit of `RATE_LIMITS` is exceeded; `Retry-After` has the seconds until the next request passes',
  },
  unavailable: {
    status: 503,
    detail: 'Service Unavailable',
    headers: TRY_AGAIN,
    when: 'the database is not reachable, or too many passwords are waiting to be hashed; see `Retry-After`',
  },
  bad_request: {
    status: 400,
    detail: 'Bad Request',
    when: 'the bytes are not an HTTP request, a proxy could read the request differently, or the target contains `#` or, in its path, a backslash; the connection is closed',
  },
  path_not_found: { status: 404, detail: 'Not Found', when: 'there is no such path' },
  method_not_allowed: {
    status: 405,
    detail: 'Method Not Allowed',
    when: 'the path does not support the method; `Allow` lists those that it supports',
  },
  request_timeout: {
    status: 408,
    detail: 'Request Timeout',
    when: 'headers took longer than 15 seconds, or the whole request longer than 30',
  },
  body_too_large: { status: 413, detail: 'Request body is too large', when: 'a body over 64 KiB, or chunks with extensions over 16 KiB' },
  expectation_failed: { status: 417, detail: 'Expectation Failed', when: 'an `Expect` header other than `100-continue`' },
  // The detail of a 422 is the list of its validation issues.
  invalid_request: { status: 422, detail: [], when: 'the path, the query or the body is invalid' },
  headers_too_large: { status: 431, detail: 'Request Header Fields Too Large', when: 'headers over 16 KiB' },
  internal_error: {
    status: 500,
    detail: 'Internal Server Error',
    when: 'an error of the service; the log has the reason, with the request id of `X-Request-Id`',
  },
} as const satisfies Readonly<Record<ErrorCode, Row>>

type Answers<Rows> = { readonly [Code in keyof Rows]: Answer & Rows[Code] }

/** The one place where an error becomes an HTTP response. A refusal without a row does not compile. */
export const ANSWERS = {
  ...withCodes(ROWS),
  // The same response as to an invalid token. Only the page that the link opens says more.
  already_verified: { ...withCodes(ROWS).token_invalid },
  // The field is invalid, although only the clock of the service shows it.
  expiry_in_past: { ...withCodes(ROWS).invalid_request, detail: [{ loc: ['body', 'expires_at'], ...MESSAGES.instantInPast }] },
} as const satisfies Readonly<Record<RefusalCode | ErrorCode, Answer>>

function withCodes<Rows extends Readonly<Record<ErrorCode, Row>>>(rows: Rows): Answers<Rows> {
  const answers = Object.entries<Row>(rows).map(([code, row]) => [
    code,
    { ...row, code, headers: { 'x-error-code': code, ...row.headers } },
  ])
  // One entry for each row, under its key.
  return Object.fromEntries(answers) as Answers<Rows>
}
