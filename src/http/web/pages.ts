import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Html, html, renderHtml } from '../../shared/html.ts'
import type { Answer } from '../answers/answers.ts'
import { answerError, type ErrorPage, sendError } from '../answers/errors.ts'
import { htmlPage, type PageBrand, pageHeaders } from './layout.ts'

export type PageOptions = { readonly apiTitle: string; readonly baseUrl: string; readonly frontendUrl: string | undefined }

export type Pages = {
  /** Confirms a result and links to the frontend. */
  done(title: string, text: string): Html
  /** Explains a problem and what to do next. */
  problem(title: string, message: string, advice: string): Html
  readonly error: ErrorPage
  resetForm(code: string, problem?: string): Html
}

type Texts = { readonly title: string; readonly message: string; readonly advice: string }

const ERROR_TEXTS: Readonly<Record<number, Texts>> = {
  404: { title: 'Page not found', message: 'There is no page at this address.', advice: 'Check the address for typos.' },
  503: {
    title: 'Temporarily unavailable',
    message: 'The service cannot answer right now.',
    advice: 'Wait a moment, then reload this page.',
  },
}
const REFUSED: Texts = {
  title: 'This request is not supported',
  message: 'The address exists, but it does not accept this kind of request.',
  advice: 'Go back and try the link again.',
}
const FAILED: Texts = {
  title: 'Something went wrong',
  message: 'The service could not handle this request.',
  advice: 'Try again later. If the problem persists, send the request ID below to the operator of this service.',
}

export function createPages({ apiTitle, baseUrl, frontendUrl }: PageOptions, brand: PageBrand = { title: apiTitle }): Pages {
  const toFrontend = frontendUrl === undefined ? undefined : html`\n<p><a href="${frontendUrl}">Continue to ${apiTitle}</a></p>`
  const root = basePath(baseUrl)
  const resetAction = `${root}/reset-password/`

  return {
    done: (title, text) =>
      htmlPage(brand, title, html`<p class="good" role="status">${text}</p>${toFrontend ?? html`\n<p>You can close this page.</p>`}`),
    problem: (title, message, advice) =>
      htmlPage(brand, title, html`<p class="bad" role="alert">${message}</p>\n<p>${advice}</p>${toFrontend}`),
    error(status, requestId) {
      const { title, message, advice } = ERROR_TEXTS[status] ?? (status >= 500 ? FAILED : REFUSED)
      const toStart = toFrontend ?? html`\n<p><a href="${root}/">Go to the start page</a></p>`
      const id = status >= 500 ? html`\n<p class="hint">Request ID: ${requestId}</p>` : undefined
      const content = html`<p class="bad" role="alert">${message}</p>\n<p>${advice}</p>${toStart}${id}`
      const page = htmlPage(brand, title, content)
      return { headers: pageHeaders(page), html: page }
    },
    resetForm: (code, problem) =>
      htmlPage(
        brand,
        'Choose a new password',
        html`${problem === undefined ? undefined : html`<p class="bad" role="alert" id="problem">${problem}</p>\n`}<form method="post" action="${resetAction}">
<input type="hidden" name="code" value="${code}">
<label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" minlength="8" required autofocus aria-describedby="hint${problem === undefined ? '' : ' problem'}">
<p class="hint" id="hint">At least 8 characters. A few random words make a strong password.</p>
<label for="confirm_password">Confirm new password</label>
<input id="confirm_password" name="confirm_password" type="password" autocomplete="new-password" minlength="8" required>
<button type="submit">Set new password</button>
</form>`,
      ),
  }
}

/** The path of BASE_URL: behind a proxy, the service may be served below a path. */
export function basePath(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '')
}

export function sendPage(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).headers(pageHeaders(page)).type('text/html; charset=utf-8').send(renderHtml(page))
}

type ErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Answers the errors of a route with a page if a person reads the response, otherwise with JSON. The status is the same. */
export function pageErrors(
  isForPerson: (request: FastifyRequest) => boolean,
  render: (answer: Answer, request: FastifyRequest) => Html,
): ErrorHandler {
  return (error, request, reply) => {
    if (!isForPerson(request)) return sendError(error, request, reply)
    const answer = answerError(error, request)
    const page = answer.status >= 500 ? request.server.errorPage?.(answer.status, request.id).html : undefined
    return sendPage(reply.headers(answer.headers), answer.status, page ?? render(answer, request))
  }
}

/** The message of an answer. For a validation error, the message of its first issue. */
export function messageOf({ detail }: Answer): string {
  return typeof detail === 'string' ? detail : (detail[0]?.msg ?? '').replace(/^Value error, /, '')
}
