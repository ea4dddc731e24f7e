import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Abandoned, Refusal, type RefusalCode } from '../../model/refusal.ts'
import { type Html, renderHtml } from '../../shared/html.ts'
import { logRefusal } from '../observation/request-log.ts'
import { InvalidRequest, MESSAGES, type ValidationIssue } from '../validation/validation-error.ts'
import { wantsHtml } from './client.ts'

/** The HTML page for an error. */
export type ErrorPage = (status: number, requestId: string) => { readonly headers: Readonly<Record<string, string>>; readonly html: Html }

declare module 'fastify' {
  interface FastifyInstance {
    readonly errorPage: ErrorPage | undefined
  }
}

export type Answer = {
  readonly status: number
  readonly detail: string | readonly ValidationIssue[]
  readonly headers?: Readonly<Record<string, string>>
}

const NO_CREDENTIAL = { 'www-authenticate': 'Bearer' }
const BAD_CREDENTIAL = { 'www-authenticate': 'Bearer error="invalid_token"' }
const TRY_AGAIN = { 'retry-after': '2' }

/** The one place where a refusal becomes an HTTP answer. */
export const ANSWERS = {
  not_authenticated: { status: 401, detail: 'Not authenticated. Use either JWT token or API key.', headers: NO_CREDENTIAL },
  token_invalid: { status: 401, detail: 'That token is Invalid', headers: BAD_CREDENTIAL },
  // The same answer as for an invalid token. Only the page that the link opens says more.
  already_verified: { status: 401, detail: 'That token is Invalid', headers: BAD_CREDENTIAL },
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
  unavailable: { status: 503, detail: 'Service Unavailable', headers: TRY_AGAIN },
} as const satisfies Readonly<Record<RefusalCode, Answer>>

export const NOT_FOUND: Answer = { status: 404, detail: 'Not Found' }
export const TOO_LARGE: Answer = { status: 413, detail: 'Request body is too large' }
const BAD_REQUEST: Answer = { status: 400, detail: 'Bad Request' }
export const INTERNAL: Answer = { status: 500, detail: 'Internal Server Error' }

// Refused credentials and permissions are logged on every route, all other refusals on routes that write.
const SECURITY_STATUSES = new Set([401, 403])

/** The answers to the framework's own errors, whose messages are never sent to a client. */
const FRAMEWORK_ANSWERS: Readonly<Record<string, Answer>> = {
  FST_ERR_BAD_URL: NOT_FOUND,
  FST_ERR_CTP_BODY_TOO_LARGE: TOO_LARGE,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: BAD_REQUEST,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { status: 422, detail: [{ loc: ['body'], ...MESSAGES.contentType }] },
}

export function installErrorAnswers(app: FastifyInstance): void {
  app.setErrorHandler((error: Error, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler(sendNotFound)
}

export function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendAnswer(request, reply, NOT_FOUND, true)
}

export function sendMethodNotAllowed(request: FastifyRequest, reply: FastifyReply, allow: string): FastifyReply {
  return sendAnswer(request, reply, { status: 405, detail: 'Method Not Allowed', headers: { allow } }, true)
}

export function sendError(error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const answer = answerError(error, request)
  return sendAnswer(request, reply, answer, answer === NOT_FOUND || answer.status >= 500)
}

/** The answer to an error. The reason is only logged, because the message of an unexpected error may contain anything. */
export function answerError(error: Error, request: FastifyRequest): Answer {
  // The client disconnected while it was sending its body. The answer is never read, and nothing has failed.
  if (error instanceof Error && error === request.raw.errored) return BAD_REQUEST
  // The client disconnected while the request was being handled: neither an error nor an outage.
  if (error instanceof Abandoned) return ANSWERS.unavailable
  const answer = answerFor(error)
  const { url, config } = request.routeOptions
  if (answer === ANSWERS.unavailable) request.logOutage(request, error)
  else if (answer.status >= 500) request.logger.error({ requestId: request.id, err: error, route: url }, 'failed')
  else if (SECURITY_STATUSES.has(answer.status) || config.writes) logRefusal(error, answer.status, request)
  return answer
}

// The type is unknown because JavaScript can throw any value, and every one needs an answer.
function answerFor(error: unknown): Answer {
  if (error instanceof Refusal) return ANSWERS[error.code]
  if (error instanceof InvalidRequest) return { status: 422, detail: error.issues }
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return FRAMEWORK_ANSWERS[code] ?? INTERNAL
}

/** Sends JSON. A browser gets a page with the same status if `hasPage` is set: the error is then not specific to an API request. */
function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: Answer, hasPage: boolean): FastifyReply {
  const { status, detail, headers } = answer
  if (headers) reply.headers(headers)
  const page = hasPage && wantsHtml(request) ? request.server.errorPage?.(status, request.id) : undefined
  if (page) return reply.code(status).headers(page.headers).type('text/html; charset=utf-8').send(renderHtml(page.html))
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify({ detail }))
}
