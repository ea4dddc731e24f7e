import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Abandoned, Refusal, TooManyRequests } from '../../model/refusal.ts'
import { codeOf } from '../../shared/errors.ts'
import { type Html, renderHtml } from '../../shared/html.ts'
import { logRefusal } from '../pipeline/request-log.ts'
import { InvalidRequest, MESSAGES, type ValidationIssue } from '../validation/validation-error.ts'
import { ANSWERS, type Answer } from './answers.ts'

/** Browsers name text/html in Accept; programs do not. */
export function wantsHtml({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}

/** The HTML page for an error. */
export type ErrorPage = (status: number, reply: FastifyReply) => { readonly headers: Readonly<Record<string, string>>; readonly html: Html }

declare module 'fastify' {
  interface FastifyInstance {
    readonly errorPage: ErrorPage | undefined
  }
}

// Refused credentials and permissions are logged on every route, all other refusals on routes that write.
const SECURITY_STATUSES = new Set([401, 403])

/** The answers to the framework's own errors, whose messages are never sent to a client. */
const FRAMEWORK_ANSWERS: Readonly<Record<string, Answer>> = {
  FST_ERR_BAD_URL: ANSWERS.path_not_found,
  FST_ERR_CTP_BODY_TOO_LARGE: ANSWERS.body_too_large,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ANSWERS.bad_request,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: answerInvalid([{ loc: ['body'], ...MESSAGES.contentType }]),
}

export function installErrorAnswers(app: FastifyInstance): void {
  app.setErrorHandler((error: Error, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler(sendNotFound)
}

export function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendAnswer(request, reply, ANSWERS.path_not_found, { hasPage: true })
}

export function sendMethodNotAllowed(request: FastifyRequest, reply: FastifyReply, allow: string): FastifyReply {
  return sendAnswer(request, reply.header('allow', allow), ANSWERS.method_not_allowed, { hasPage: true })
}

export function sendError(error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const answer = answerError(error, request)
  return sendAnswer(request, reply, answer, { hasPage: answer === ANSWERS.path_not_found || answer.status >= 500 })
}

/** The answer to an error. The reason is only logged, because the message of an unexpected error may contain anything. */
export function answerError(error: Error, request: FastifyRequest): Answer {
  // The client disconnected while it was sending its body. The answer is never read, and nothing has failed.
  if (error instanceof Error && error === request.raw.errored) return ANSWERS.bad_request
  // The client disconnected while the request was being handled: neither an error nor an outage.
  if (error instanceof Abandoned) return ANSWERS.unavailable
  const answer = answerFor(error)
  const { url, config } = request.routeOptions
  if (answer === ANSWERS.unavailable) request.logOutage(request, error)
  else if (answer.status >= 500) request.logger.error({ requestId: request.id, err: error, route: url }, 'failed')
  // A key beyond its limit is neither a failure nor an attack, and may come often.
  else if (answer.code === 'too_many_requests' ? config.writes : SECURITY_STATUSES.has(answer.status) || config.writes)
    logRefusal(error, answer.status, request)
  return answer
}

// The type is unknown because JavaScript can throw any value, and every one needs an answer.
function answerFor(error: unknown): Answer {
  if (error instanceof TooManyRequests) return answerLimited(error)
  if (error instanceof Refusal) return ANSWERS[error.code]
  if (error instanceof InvalidRequest) return answerInvalid(error.issues)
  return FRAMEWORK_ANSWERS[codeOf(error)] ?? ANSWERS.internal_error
}

function answerLimited({ code, retryAfterSeconds }: TooManyRequests): Answer {
  const { headers, ...answer } = ANSWERS[code]
  return { ...answer, headers: { ...headers, 'retry-after': String(retryAfterSeconds) } }
}

function answerInvalid(issues: readonly ValidationIssue[]): Answer {
  return { ...ANSWERS.invalid_request, detail: issues }
}

/** Sends JSON. A browser gets a page with the same status if `hasPage` is set: the error is then not specific to an API request. */
function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  { hasPage }: { readonly hasPage: boolean },
): FastifyReply {
  const { status, detail, headers } = answer
  reply.headers(headers)
  const page = hasPage && wantsHtml(request) ? request.server.errorPage?.(status, reply) : undefined
  if (page) return reply.code(status).headers(page.headers).type('text/html; charset=utf-8').send(renderHtml(page.html))
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify({ detail }))
}
