import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal, type RefusalCode } from '../../model/refusal.ts'
import { COMPLAINTS, type Fault, InvalidRequest } from '../validation/validation-error.ts'
import { targetOf } from './events.ts'

export type Answer = {
  readonly status: number
  readonly detail: string | readonly Fault[]
  readonly headers?: Readonly<Record<string, string>>
}

const NO_CREDENTIAL = { 'www-authenticate': 'Bearer' }
const BAD_CREDENTIAL = { 'www-authenticate': 'Bearer error="invalid_token"' }
const TRY_AGAIN = { 'retry-after': '2' }

/** The one place where a refusal becomes an HTTP answer. */
export const ANSWERS = {
  not_authenticated: { status: 401, detail: 'Not authenticated. Use either JWT token or API key.', headers: NO_CREDENTIAL },
  token_invalid: { status: 401, detail: 'That token is Invalid', headers: BAD_CREDENTIAL },
  token_expired: { status: 401, detail: 'That token has Expired', headers: BAD_CREDENTIAL },
  key_invalid: { status: 401, detail: 'Invalid API key', headers: BAD_CREDENTIAL },
  key_inactive: { status: 401, detail: 'API key is inactive', headers: BAD_CREDENTIAL },
  key_expired: { status: 401, detail: 'API key has expired', headers: BAD_CREDENTIAL },
  not_permitted: { status: 403, detail: 'Not enough permissions' },
  user_not_found: { status: 404, detail: 'User not Found' },
  key_not_found: { status: 404, detail: 'API key not found' },
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

// Who was let in, and who was not, is for the log of an operator.
const SECURITY_STATUSES = new Set([401, 403])

/** What the framework itself may complain about, in our words; it says nothing to a client in its own. */
const FRAMEWORK_ANSWERS: Readonly<Record<string, Answer>> = {
  FST_ERR_BAD_URL: NOT_FOUND,
  FST_ERR_CTP_BODY_TOO_LARGE: TOO_LARGE,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: BAD_REQUEST,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { status: 422, detail: [{ loc: ['body'], ...COMPLAINTS.contentType }] },
}

export function installErrorAnswers(app: FastifyInstance): void {
  app.setErrorHandler((error: Error, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler(sendNotFound)
}

export function sendNotFound(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendAnswer(reply, NOT_FOUND)
}

export function sendMethodNotAllowed(_request: FastifyRequest, reply: FastifyReply, allow: string): FastifyReply {
  return sendAnswer(reply, { status: 405, detail: 'Method Not Allowed', headers: { allow } })
}

export function sendError(error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendAnswer(reply, answerError(error, request))
}

/** What to answer to an error. The reason goes to the log alone: the message of an unforeseen error may name anything. */
export function answerError(error: Error, request: FastifyRequest): Answer {
  // The client went away in the middle of its body. Nobody reads the answer, and nothing has failed.
  if (error instanceof Error && error === request.raw.errored) return BAD_REQUEST
  const answer = answerFor(error)
  if (answer === ANSWERS.unavailable) request.logOutage(request, error)
  else if (answer.status >= 500) request.logger.error({ requestId: request.id, err: error, route: request.routeOptions.url }, 'failed')
  else if (SECURITY_STATUSES.has(answer.status) || request.routeOptions.config.event) logRefusal(error, answer, request)
  return answer
}

function logRefusal(error: Error, { status }: Answer, request: FastifyRequest): void {
  const { url, config } = request.routeOptions
  request.logger.info(
    {
      requestId: request.id,
      event: config.event,
      route: url,
      status,
      reason: error.message,
      actor: request.caller?.user.id,
      target: targetOf(request),
      ip: request.origin.ip,
    },
    'refused',
  )
}

// Anything can be thrown, whatever its type says, and has to end as an answer of ours.
function answerFor(error: unknown): Answer {
  if (error instanceof Refusal) return ANSWERS[error.code]
  if (error instanceof InvalidRequest) return { status: 422, detail: error.faults }
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return FRAMEWORK_ANSWERS[code] ?? INTERNAL
}

function sendAnswer(reply: FastifyReply, { status, detail, headers }: Answer): FastifyReply {
  if (headers) reply.headers(headers)
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify({ detail }))
}
