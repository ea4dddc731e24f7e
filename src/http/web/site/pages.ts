import type { FastifyReply, FastifyRequest } from 'fastify'
import { PASSWORD_MIN_LENGTH } from '../../../domain/values/text.ts'
import { type Html, html, renderHtml } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { answerError, type ErrorPage, sendError } from '../../answers/errors.ts'
import type { Texts } from '../texts/texts.ts'
import { inputField } from './elements/fields.ts'
import { linkMessage } from './messages.ts'
import { PUBLIC_HEADERS, renderPublicPage } from './shell.ts'
import type { Site } from './site.ts'

/** The pages that belong to no area. Each is in the language of the browser: their reader is not known. */
export type Pages = ReturnType<typeof createPages>

type Problem = { readonly title: string; readonly message: string; readonly advice: string; readonly helpPage?: HelpPage }
type Done = { readonly title: string; readonly text: string }

/** The account pages that help, and what leads there. */
const HELP_BUTTONS = {
  'forgot-password': 'newEmail',
  'resend-verification': 'newEmail',
  'sign-in': 'signIn',
  register: 'register',
} as const satisfies Readonly<Record<string, keyof Texts['buttons']>>
type HelpPage = keyof typeof HELP_BUTTONS

const ERRORS: Readonly<Record<number, keyof Texts['publicErrors']>> = { 404: 'notFound', 503: 'unavailable' }

export function createPages(site: Site) {
  const { apiTitle, root, frontendUrl, isEnabled } = site
  const page = (texts: Texts, title: string, content: Html) => renderPublicPage(site, texts, title, content)
  const primary = (to: string, text: string) => html`\n<p class="actions"><a class="button primary" href="${to}">${text}</a></p>`
  const toFrontend = ({ navigation }: Texts) =>
    frontendUrl === undefined ? undefined : primary(frontendUrl, navigation.toProduct(apiTitle))
  const toSignIn = ({ buttons, links }: Texts) =>
    isEnabled.account ? primary(`${root}/account/sign-in`, buttons.signIn) : html`\n<p>${links.close}</p>`

  function errorPage(texts: Texts, status: number, requestId: string): Html {
    const { title, message, advice } = texts.publicErrors[ERRORS[status] ?? (status >= 500 ? 'failed' : 'refused')]
    const toStart = toFrontend(texts) ?? html`\n<p class="actions"><a class="button" href="${root}/">${texts.navigation.toStart}</a></p>`
    const id = status >= 500 ? html`\n<p class="hint">${texts.errors.requestId(requestId)}</p>` : undefined
    return page(texts, title, html`<p class="notice bad" role="alert">${message}</p>\n<p>${advice}</p>${toStart}${id}`)
  }

  return {
    textsOf: site.texts.forVisitor,
    send: (reply: FastifyReply, status: number, shown: Html) => sendPage(site, reply, status, shown),
    /** Confirms a result and leads on: to the frontend, or to signing in. */
    done: (texts: Texts, { title, text }: Done): Html =>
      page(texts, title, html`<p class="notice good" role="status">${text}</p>${toFrontend(texts) ?? toSignIn(texts)}`),
    /** Explains a problem and what to do next. */
    problem(texts: Texts, { title, message, advice, helpPage }: Problem): Html {
      const toAccount =
        helpPage && isEnabled.account ? primary(`${root}/account/${helpPage}`, texts.buttons[HELP_BUTTONS[helpPage]]) : undefined
      const content = html`<p class="notice bad" role="alert">${message}</p>\n<p>${advice}</p>${toFrontend(texts) ?? toAccount}`
      return page(texts, title, content)
    },
    errorPage,
    /** For an error outside of the pages: its sender adds the rest of the answer. */
    error(status: number, reply: FastifyReply): ReturnType<ErrorPage> {
      const shown = errorPage(site.texts.forVisitor(reply.request), status, reply.request.id)
      site.texts.describe(reply)
      return { headers: PUBLIC_HEADERS, html: shown }
    },
    resetForm: (texts: Texts, code: string, problem?: string): Html =>
      page(texts, texts.password.choose, resetForm(texts, `${root}/reset-password/`, code, problem)),
  }
}

function resetForm({ fields, hints, password }: Texts, action: string, code: string, problem: string | undefined): Html {
  const field = { type: 'password', autocomplete: 'new-password', minLength: PASSWORD_MIN_LENGTH } as const
  const describedBy = problem === undefined ? undefined : 'problem'
  return html`${problem === undefined ? undefined : html`<p class="notice bad" role="alert" id="problem">${problem}</p>\n`}<form method="post" action="${action}"><div class="form">
<input type="hidden" name="code" value="${code}">
${inputField({ ...field, name: 'new_password', label: fields.newPassword, hint: hints.password, describedBy, hasFocus: true })}
${inputField({ ...field, name: 'confirm_password', label: fields.confirmPassword })}
<button class="primary">${password.set}</button>
</div></form>`
}

/** Sends a page in the language that was chosen for the request. */
export function sendPage({ texts }: Site, reply: FastifyReply, status: number, page: Html): FastifyReply {
  return texts.describe(reply).code(status).headers(PUBLIC_HEADERS).type('text/html; charset=utf-8').send(renderHtml(page))
}

/** What the pages of a link in a mail say when it does not work. */
type LinkTexts = {
  /** For a link that has done its work already. */
  readonly again: Done
  readonly expired: string
  readonly invalid: string
  /** The account page where a new link can be requested. */
  readonly helpPage: HelpPage
}

/** The page for a link in a mail that was used before, or that does not work. */
export function failedLinkPage(pages: Pages, texts: Texts, answer: Answer, { again, expired, invalid, helpPage }: LinkTexts): Html {
  const { links } = texts
  if (answer === ANSWERS.already_verified) return pages.done(texts, again)
  const message = linkMessage(texts, answer)
  if (answer === ANSWERS.token_expired) return pages.problem(texts, { title: links.expiredTitle, message, advice: expired, helpPage })
  if (answer === ANSWERS.user_not_found)
    return pages.problem(texts, { title: links.goneTitle, message, advice: links.goneAdvice, helpPage: 'register' })
  return pages.problem(texts, { title: links.invalidTitle, message, advice: invalid, helpPage })
}

/** Answers the errors of a route with a page if a person reads the response, otherwise with JSON. The status is the same. */
export function pageErrors(
  pages: Pages,
  isForPerson: (request: FastifyRequest) => boolean,
  render: (texts: Texts, answer: Answer, request: FastifyRequest) => Html,
) {
  return (error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (!isForPerson(request)) return sendError(error, request, reply)
    const texts = pages.textsOf(request)
    const answer = answerError(error, request)
    const page = answer.status >= 500 ? pages.errorPage(texts, answer.status, request.id) : render(texts, answer, request)
    return pages.send(reply.headers(answer.headers), answer.status, page)
  }
}
