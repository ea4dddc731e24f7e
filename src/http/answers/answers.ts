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
  readonly headers?: Readonly<Record<string, string>>
}

/** The response to an error. Its headers contain the code, so that whatever sends them sends the code. */
export type Answer = Row & { readonly code: ErrorCode; readonly headers: Readonly<Record<string, string>> }

const NO_CREDENTIAL = { 'www-authenticate': 'Bearer' }
const BAD_CREDENTIAL = { 'www-authenticate': 'Bearer error="invalid_token"' }
const TRY_AGAIN = { 'retry-after': '2' }

const ROWS = {
  not_authenticated: { status: 401, detail: 'Not authenticated. Use either JWT token or API key.', headers: NO_CREDENTIAL },
  token_invalid: { status: 401, detail: 'That token is Invalid', headers: BAD_CREDENTIAL },
  token_expired: { status: 401, detail: 'That token has Expired', headers: BAD_CREDENTIAL },
  key_invalid: { status: 401, detail: 'Invalid API key', headers: BAD_CREDENTIAL },
  key_inactive: { status: 401, detail: 'API key is inactive', headers: BAD_CREDENTIAL },
  key_expired: { status: 401, detail: 'API key has expired', headers: BAD_CREDENTIAL },
  not_permitted: { status: 403, detail: 'Not enough permissions' },
  user_not_found: { status: 404, detail: 'User not Found' },
  key_not_found: { status: 404, detail: 'API key not found' },
  session_not_found: { status: 404, detail: 'Session not found' },
  email_taken: { status: 400, detail: 'A User with this email already exists' },
  wrong_credentials: { status: 400, detail: 'Wrong email or password' },
  login_banned: { status: 401, detail: 'This User is banned', headers: NO_CREDENTIAL },
  login_unverified: { status: 401, detail: 'You need to verify your Email before logging in', headers: NO_CREDENTIAL },
  ban_self: { status: 400, detail: 'You cannot ban yourself' },
  last_admin: { status: 400, detail: 'Cannot delete the last admin user' },
  no_session: { status: 400, detail: 'Only a session can be logged out' },
  too_many_keys: { status: 400, detail: 'Too many API keys' },
  no_key: { status: 400, detail: 'Only an API key can revoke itself' },
  // Sent with the time until the next request passes.
  too_many_requests: { status: 429, detail: 'Too many requests', headers: TRY_AGAIN },
  unavailable: { status: 503, detail: 'Service Unavailable', headers: TRY_AGAIN },
  bad_request: { status: 400, detail: 'Bad Request' },
  path_not_found: { status: 404, detail: 'Not Found' },
  method_not_allowed: { status: 405, detail: 'Method Not Allowed' },
  request_timeout: { status: 408, detail: 'Request Timeout' },
  body_too_large: { status: 413, detail: 'Request body is too large' },
  expectation_failed: { status: 417, detail: 'Expectation Failed' },
  // The detail of a 422 is the list of its validation issues.
  invalid_request: { status: 422, detail: [] },
  headers_too_large: { status: 431, detail: 'Request Header Fields Too Large' },
  internal_error: { status: 500, detail: 'Internal Server Error' },
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
