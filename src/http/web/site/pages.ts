import type { FastifyReply, FastifyRequest } from 'fastify'
import { PASSWORD_MIN_LENGTH } from '../../../domain/values/text.ts'
import { type Html, html, renderHtml } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { answerError, type ErrorPage, sendError } from '../../answers/errors.ts'
import { inputField } from './elements/fields.ts'
import { linkMessage } from './messages.ts'
import { PASSWORD_HINT } from './new-account.ts'
import { PUBLIC_HEADERS, renderPublicPage } from './shell.ts'
import type { Site } from './site.ts'

/** The pages that belong to no area. */
export type Pages = ReturnType<typeof createPages>

type Texts = { readonly title: string; readonly message: string; readonly advice: string }

/** The account pages that help. */
const HELP_LABELS = {
  'forgot-password': 'Request a new email',
  'resend-verification': 'Request a new email',
  'sign-in': 'Sign in',
  register: 'Create an account',
} as const
type HelpPage = keyof typeof HELP_LABELS

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

export function createPages(site: Site) {
  const { apiTitle, root, frontendUrl, isEnabled } = site
  const page = (title: string, content: Html) => renderPublicPage(site, title, content)
  const primary = (to: string, text: string) => html`\n<p class="actions"><a class="button primary" href="${to}">${text}</a></p>`
  const toFrontend = frontendUrl === undefined ? undefined : primary(frontendUrl, `Continue to ${apiTitle}`)
  const toSignIn = isEnabled.account ? primary(`${root}/account/sign-in`, 'Sign in') : html`\n<p>You can close this page.</p>`

  return {
    /** Confirms a result and leads on: to the frontend, or to signing in. */
    done: (title: string, text: string): Html =>
      page(title, html`<p class="notice good" role="status">${text}</p>${toFrontend ?? toSignIn}`),
    /** Explains a problem and what to do next. */
    problem({ title, message, advice, helpPage }: Texts & { readonly helpPage?: HelpPage }): Html {
      const toAccount = helpPage && isEnabled.account ? primary(`${root}/account/${helpPage}`, HELP_LABELS[helpPage]) : undefined
      return page(title, html`<p class="notice bad" role="alert">${message}</p>\n<p>${advice}</p>${toFrontend ?? toAccount}`)
    },
    error(status: number, requestId: string): ReturnType<ErrorPage> {
      const { title, message, advice } = ERROR_TEXTS[status] ?? (status >= 500 ? FAILED : REFUSED)
      const toStart = toFrontend ?? html`\n<p class="actions"><a class="button" href="${root}/">Go to the start page</a></p>`
      const id = status >= 500 ? html`\n<p class="hint">Request ID: ${requestId}</p>` : undefined
      const content = html`<p class="notice bad" role="alert">${message}</p>\n<p>${advice}</p>${toStart}${id}`
      return { headers: PUBLIC_HEADERS, html: page(title, content) }
    },
    resetForm: (code: string, problem?: string): Html => page('Choose a new password', resetForm(`${root}/reset-password/`, code, problem)),
  }
}

function resetForm(action: string, code: string, problem: string | undefined): Html {
  const field = { type: 'password', autocomplete: 'new-password', minLength: PASSWORD_MIN_LENGTH } as const
  const describedBy = problem === undefined ? undefined : 'problem'
  return html`${problem === undefined ? undefined : html`<p class="notice bad" role="alert" id="problem">${problem}</p>\n`}<form method="post" action="${action}"><div class="form">
<input type="hidden" name="code" value="${code}">
${inputField({ ...field, name: 'new_password', label: 'New password', hint: PASSWORD_HINT, describedBy, hasFocus: true })}
${inputField({ ...field, name: 'confirm_password', label: 'Confirm new password' })}
<button class="primary">Set new password</button>
</div></form>`
}

export function sendPage(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).headers(PUBLIC_HEADERS).type('text/html; charset=utf-8').send(renderHtml(page))
}

/** What the pages of a link in a mail say when it does not work. */
export type LinkTexts = {
  readonly done: readonly [title: string, text: string]
  readonly expired: string
  readonly invalid: string
  /** The account page where a new link can be requested. */
  readonly helpPage: HelpPage
}

const GONE_ADVICE = 'The account was deleted. Sign up again to create a new one.'

/** The page for a link in a mail that was used before, or that does not work. */
export function failedLinkPage(pages: Pages, answer: Answer, { done, expired, invalid, helpPage }: LinkTexts): Html {
  if (answer === ANSWERS.already_verified) return pages.done(...done)
  const message = linkMessage(answer)
  if (answer === ANSWERS.token_expired) return pages.problem({ title: 'This link has expired', message, advice: expired, helpPage })
  if (answer === ANSWERS.user_not_found)
    return pages.problem({ title: 'This account no longer exists', message, advice: GONE_ADVICE, helpPage: 'register' })
  return pages.problem({ title: 'This link does not work', message, advice: invalid, helpPage })
}

/** Answers the errors of a route with a page if a person reads the response, otherwise with JSON. The status is the same. */
export function pageErrors(isForPerson: (request: FastifyRequest) => boolean, render: (answer: Answer, request: FastifyRequest) => Html) {
  return (error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (!isForPerson(request)) return sendError(error, request, reply)
    const answer = answerError(error, request)
    const page = answer.status >= 500 ? request.server.errorPage?.(answer.status, request.id).html : undefined
    return sendPage(reply.headers(answer.headers), answer.status, page ?? render(answer, request))
  }
}
