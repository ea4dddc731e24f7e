import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../../model/refusal.ts'
import type { User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { Answer } from '../../answers/answers.ts'
import { answerError } from '../../answers/errors.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import type { Cookies } from './cookies.ts'
import { type Problems, problemsOf } from './elements/fields.ts'
import { personalMessage } from './messages.ts'
import { confirmPasswordPage, PasswordRequired } from './recent-password.ts'
import { type Page, renderPage, SITE_HEADERS } from './shell.ts'
import { type Site, signInPath } from './site.ts'

type Retry = (answer: Answer, request: FastifyRequest) => Page | Promise<Page>
type Fields = Readonly<Record<string, { readonly maxLength?: number }>>
type ErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Turns the errors of a page into pages, with the same statuses as in the API. */
export type PageErrors = { handler(area: PageArea, retry: Retry | undefined): ErrorHandler }

const SIGNED_OUT: ReadonlySet<string> = new Set(['not_authenticated', 'token_invalid', 'token_expired'])
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])
// What can be corrected in the form.
const RETRIED: ReadonlySet<number> = new Set([400, 401, 422, 429])
/** For a field whose schema names no length, such as one of several words. */
const OTHER_MAX_LENGTH = 100
const ABOUT_PASSWORD: ReadonlySet<string> = new Set(['wrong_credentials', 'too_many_requests'])

export function createPageErrors(
  site: Site,
  cookies: Cookies,
  send: (reply: FastifyReply, page: Html, status: number) => FastifyReply,
): PageErrors {
  return {
    handler: (area, retry) => async (error, request, reply) => {
      const isSignedOut = error instanceof Refusal && SIGNED_OUT.has(error.code)
      if (isSignedOut && READING.has(request.method)) {
        // The browser still has a cookie: its session has expired or was ended.
        if (error.code !== 'not_authenticated') cookies.setNotice(reply, 'session-ended')
        return reply.headers(SITE_HEADERS).redirect(site.root + signInPath(area, request.url), 303)
      }
      const answer = answerError(error, request)
      const page = isSignedOut ? signedOutPage(site, area) : await pageFor(area, retry, error, answer, request)
      const [path = ''] = request.url.split('?')
      const shown = renderPage(site, { area, path, user: isSignedOut ? undefined : viewerOf(area, request) }, page)
      return send(reply.headers(answer.headers), shown, answer.status)
    },
  }

  function pageFor(area: PageArea, retry: Retry | undefined, error: Error, answer: Answer, request: FastifyRequest): Page | Promise<Page> {
    const question = passwordPage(site, error, answer, request)
    if (question !== undefined) return question
    return retry && RETRIED.has(answer.status) ? retry(answer, request) : problemPage(site, area, answer, request)
  }
}

/** Only a caller who may see the area gets its navigation. */
function viewerOf(area: PageArea, { caller }: FastifyRequest): User | undefined {
  return area === 'account' || caller?.user.role === 'admin' ? caller?.user : undefined
}

/** The question for the password, if the error is that it is missing or wrong. */
function passwordPage(site: Site, error: Error, answer: Answer, request: FastifyRequest): Page | undefined {
  const { passwordQuestion } = request
  if (passwordQuestion === undefined) return undefined
  if (error instanceof PasswordRequired) return confirmPasswordPage(site, request, passwordQuestion, undefined)
  if (!ABOUT_PASSWORD.has(answer.code)) return undefined
  const message = answer.code === 'wrong_credentials' ? 'Wrong password. Nothing was changed.' : personalMessage(answer)
  return confirmPasswordPage(site, request, passwordQuestion, message)
}

/** The form again, with its problems and its values. Passwords are never sent back. */
export function retryOf(options: {
  readonly retry?: (problems: Problems, values: Readonly<Record<string, string>>, request: FastifyRequest) => Page | Promise<Page>
  readonly labels?: Readonly<Record<string, string>>
  readonly body?: Fields
}): Retry | undefined {
  const { retry, labels, body = {} } = options
  return retry && ((answer, request) => retry(problemsOf(answer, labels), textsOf(request, body), request))
}

/** The fields as they were sent, each no longer than it may be, so that the page stays small whatever was sent. */
function textsOf({ body }: FastifyRequest, fields: Fields): Record<string, string> {
  const given = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) ? (body as Readonly<Record<string, unknown>>) : {}
  const texts = Object.entries(fields).flatMap(([name, { maxLength = OTHER_MAX_LENGTH }]) => {
    const value = given[name]
    return typeof value === 'string' && !name.includes('password') ? [[name, beginningOf(value, maxLength)]] : []
  })
  return Object.fromEntries(texts)
}

/** The first characters of a text. A character has one or two units. */
function beginningOf(text: string, maxLength: number): string {
  return Array.from(text.slice(0, 2 * maxLength))
    .slice(0, maxLength)
    .join('')
}

function signedOutPage({ root }: Site, area: PageArea): Page {
  const content = html`<p class="notice bad" role="alert">Your session has ended, so nothing was changed.</p>
<p class="actions"><a class="button primary" href="${root}/${area}/sign-in">Sign in</a></p>`
  return { title: 'You are signed out', content, isLone: true }
}

const TITLES: Readonly<Record<number, string>> = {
  403: 'Not allowed',
  404: 'Not found',
  413: 'Too much to send',
  422: 'This cannot be processed',
  429: 'Too many attempts',
  503: 'Temporarily unavailable',
}

function problemPage({ root, isEnabled }: Site, area: PageArea, answer: Answer, { id, caller, method }: FastifyRequest): Page {
  const { status } = answer
  const isOutsider = area === 'console' && status === 403 && caller !== undefined && caller.user.role !== 'admin'
  const message = isOutsider
    ? `The console is for admins. You are signed in as ${caller.user.email}, who is not an admin.`
    : messageFor(answer, method)
  const ways = isOutsider
    ? html`${isEnabled.account ? html`<a class="button primary" href="${root}/account/">Go to your account</a>` : ''}<a class="button" href="${root}/console/sign-in">Sign in as an admin</a>`
    : html`<a class="button" href="${root}/${area}/">${area === 'console' ? 'Go to the console' : 'Go to your account'}</a>`
  const requestId = status >= 500 ? html`\n<p class="hint">Request ID: ${id}</p>` : undefined
  const content = html`<div class="message"><p class="notice bad" role="alert">${message}</p>\n<p class="actions">${ways}</p>${requestId}</div>`
  return { title: TITLES[status] ?? (status >= 500 ? 'Something went wrong' : 'This was refused'), content }
}

/** A page without a form is invalid because of its address. */
function messageFor(answer: Answer, method: string): string {
  return answer.status === 422 && READING.has(method) ? 'The address of this page is not valid.' : personalMessage(answer)
}
