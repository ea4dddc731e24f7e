import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Html, html, renderHtml } from '../../shared/html.ts'
import { type Answer, answerError, sendError } from '../pipeline/errors.ts'
import { htmlPage, PAGE_HEADERS } from './layout.ts'

export type PageOptions = { readonly apiTitle: string; readonly baseUrl: string; readonly frontendUrl: string | undefined }

export type Pages = {
  /** Something went well. */
  done(title: string, text: string): Html
  /** Something cannot be done, and the page offers no way to mend it. */
  problem(title: string, message: string, advice: string): Html
  resetForm(code: string, problem?: string): Html
}

export function createPages({ apiTitle, baseUrl, frontendUrl }: PageOptions): Pages {
  const onward = frontendUrl === undefined ? undefined : html`\n<p><a href="${frontendUrl}">Continue to ${apiTitle}</a></p>`
  const resetAction = `${basePath(baseUrl)}/reset-password/`

  return {
    done: (title, text) => htmlPage(apiTitle, title, html`<p class="good" role="status">${text}</p>${onward}`),
    problem: (title, message, advice) =>
      htmlPage(apiTitle, title, html`<p class="bad" role="alert">${message}</p>\n<p>${advice}</p>${onward}`),
    resetForm: (code, problem) =>
      htmlPage(
        apiTitle,
        'Choose a new password',
        html`${problem === undefined ? undefined : html`<p class="bad" role="alert" id="problem">${problem}</p>\n`}<form method="post" action="${resetAction}">
<input type="hidden" name="code" value="${code}">
<label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" minlength="8" required autofocus aria-describedby="hint${problem === undefined ? '' : ' problem'}">
<p class="hint" id="hint">8 characters or more. A few random words make a strong one.</p>
<label for="confirm_password">The same again</label>
<input id="confirm_password" name="confirm_password" type="password" autocomplete="new-password" minlength="8" required>
<button type="submit">Set the new password</button>
</form>`,
      ),
  }
}

/** Behind a proxy the service may live below a path, which BASE_URL names. */
export function basePath(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '')
}

export function sendPage(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(renderHtml(page))
}

type ErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Answers the errors of a route with a page of the same status where a person looks at it, and as usual elsewhere. */
export function pageErrors(
  isForPerson: (request: FastifyRequest) => boolean,
  render: (answer: Answer, request: FastifyRequest) => Html,
): ErrorHandler {
  return (error, request, reply) => {
    if (!isForPerson(request)) return sendError(error, request, reply)
    const answer = answerError(error, request)
    return sendPage(reply.headers(answer.headers ?? {}), answer.status, render(answer, request))
  }
}

/** The answer in words: for a request that is not well formed, what is wrong with its first fault. */
export function messageOf({ detail }: Answer): string {
  return typeof detail === 'string' ? detail : (detail[0]?.msg ?? '').replace(/^Value error, /, '')
}
