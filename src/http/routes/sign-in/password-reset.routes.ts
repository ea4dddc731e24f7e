import type { FastifyRequest } from 'fastify'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { PasswordReset } from '../../../domain/sign-in/password-reset.service.ts'
import { Refusal } from '../../../model/refusal.ts'
import { isTokenShaped } from '../../../security/token.ts'
import type { Html } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { answerError, wantsHtml } from '../../answers/errors.ts'
import { described, HtmlView } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { isForm } from '../../pipeline/input.ts'
import { GivenPassword, NewPassword, Type, tokenField } from '../../validation/schema.ts'
import { invalidField } from '../../web/site/elements/fields.ts'
import { linkMessage, messageOf, personalFieldMessage, personalMessage } from '../../web/site/messages.ts'
import { type Pages, pageErrors } from '../../web/site/pages.ts'
import type { Texts } from '../../web/texts/texts.ts'
import { createApiRoutes } from '../api-routes.ts'
import { EmailBody, MessageView } from './sign-in.routes.ts'

const ResetCode = tokenField('The code from the link in the mail.')
/** The code is optional, because a missing code leads to a page, not to a validation error (spec 4.2). */
const ResetPageQuery = Type.Object({ code: Type.Optional(ResetCode) })

const ResetBody = Type.Object(
  { code: ResetCode, new_password: NewPassword },
  { title: 'PasswordReset', description: 'The code of a reset link and the new password.' },
)
const ResetForm = Type.Object(
  {
    code: ResetCode,
    new_password: NewPassword,
    confirm_password: Type.Optional({ ...GivenPassword, description: 'The new password again, to catch typing errors.' }),
  },
  { title: 'PasswordResetForm', description: 'The code of a reset link and the new password, as a form.' },
)

const ResetContent = {
  content: {
    'application/json': { schema: ResetBody },
    'application/x-www-form-urlencoded': { schema: ResetForm },
    'multipart/form-data': { schema: ResetForm },
  },
}

/** The parsed body, sent as JSON or as a form. */
type ResetInput = { readonly code: string; readonly new_password: string; readonly confirm_password?: string }

const REQUESTED = 'Password reset email sent if user exists'
const RESET = 'Password successfully reset'
const CODE_REQUIRED = 'Reset code is required'

type PasswordResetParts = {
  readonly passwordReset: PasswordReset
  readonly limiter: Limiter
  readonly pages: Pages
  readonly frontendUrl: string | undefined
}

export function passwordResetRoutes(app: App, parts: PasswordResetParts): void {
  const { passwordReset, limiter, pages, frontendUrl } = parts
  const api = createApiRoutes(app, 'Password reset')
  api.post('/forgot-password/', 'forgotPassword', {
    config: { access: 'public', writes: true, limits: { ip: 'mail:ip', account: 'mail:account' } },
    summary: 'Request a password reset mail',
    description: 'The response is the same for every address, so that it does not reveal who has an account.',
    body: EmailBody,
    response: { 200: described(MessageView, 'The request is accepted.', { message: REQUESTED }) },
    handle: async (request) => {
      await passwordReset.request(request.origin, request.body.email)
      return { message: REQUESTED }
    },
  })

  api.get('/reset-password/', 'resetPasswordPage', {
    config: { access: 'public', writes: false },
    exposeHeadRoute: false,
    errorHandler: pageErrors(pages, wantsHtml, (texts, answer) => problemPage(pages, texts, messageOf(answer))),
    summary: 'Open the reset page',
    description: 'The target of the link in the reset mail: the built-in form or, if FRONTEND_URL is set, a redirect to your frontend.',
    page: true,
    querystring: ResetPageQuery,
    response: {
      200: described(HtmlView, 'The form, or a page that says what is wrong with the code.'),
      302: described(HtmlView, '`{FRONTEND_URL}/reset-password?code=…`'),
    },
    handle: async (request, reply) => {
      const code = request.query.code ?? ''
      if (frontendUrl !== undefined && isTokenShaped(code))
        return reply.redirect(`${frontendUrl}/reset-password?code=${encodeURIComponent(code)}`, 302)
      return pages.send(reply, 200, await resetPage(parts, code, request))
    },
  })

  api.post('/reset-password/', 'resetPassword', {
    config: { access: 'public', writes: true, limits: { ip: 'reset:ip' } },
    errorHandler: pageErrors(pages, isForm, (texts, answer, request) => failedFormPage(pages, texts, answer, request)),
    summary: 'Set a new password',
    description:
      'The code from the mail works once, within 30 minutes. All sessions of the account end; its API keys stay valid. The response to a form is a page.',
    page: true,
    body: ResetContent,
    response: {
      200: described(MessageView, 'The new password is set.', { message: RESET }),
      refuses: ['token_invalid', 'token_expired', 'user_not_found'],
    },
    handle: async (request, reply) => {
      // Each accepted content type has its own schema, and both parse to this type.
      const { code, new_password, confirm_password } = request.body as ResetInput
      if (confirm_password !== undefined && confirm_password !== new_password)
        throw invalidField('confirm_password', pages.textsOf(request).password.different)
      const email = await passwordReset.reset(request.origin, code, new_password)
      if (email !== undefined) await limiter.recognise(email, request.origin.ip)
      if (!isForm(request)) return { message: RESET }
      const texts = pages.textsOf(request)
      return pages.send(reply, 200, pages.done(texts, texts.links.reset.done))
    },
  })
}

/** The form for a valid token, otherwise a page that explains the problem. Both have status 200 (spec 4.2). */
async function resetPage({ passwordReset, pages }: PasswordResetParts, code: string, request: FastifyRequest): Promise<Html> {
  const texts = pages.textsOf(request)
  if (code === '') return problemPage(pages, texts, CODE_REQUIRED)
  try {
    await passwordReset.check(code)
    return pages.resetForm(texts, code)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'unavailable') throw error
    // A deleted user is shown as an invalid token.
    const shown = error.code === 'user_not_found' ? new Refusal('token_invalid', error.message) : error
    return problemPage(pages, texts, messageOf(answerError(shown, request)))
  }
}

/** An invalid password can be corrected in the form; an invalid token cannot. */
function failedFormPage(pages: Pages, texts: Texts, answer: Answer, { body }: FastifyRequest): Html {
  const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
  if (answer.status === ANSWERS.too_many_requests.status)
    return pages.problem(texts, {
      title: texts.links.reset.failed,
      message: personalMessage(texts, answer),
      advice: texts.links.reset.limited,
    })
  const isCorrectable = answer.status === 422 && typeof code === 'string' && isTokenShaped(code)
  const message = formMessage(texts, answer)
  return isCorrectable ? pages.resetForm(texts, code, message) : problemPage(pages, texts, message)
}

/** The messages that the specification names are the same in every language (spec 4.2). */
function problemPage(pages: Pages, texts: Texts, message: string): Html {
  const { failed, advice } = texts.links.reset
  return pages.problem(texts, { title: failed, message, advice, helpPage: 'forgot-password' })
}

/** The message of the first issue. It names the field as the form does. */
function formMessage(texts: Texts, answer: Answer): string {
  if (answer === ANSWERS.token_invalid || answer === ANSWERS.token_expired) return messageOf(answer)
  const issue = typeof answer.detail === 'string' ? undefined : answer.detail[0]
  if (issue?.loc[1] === 'code') return issue.type === 'missing' ? CODE_REQUIRED : messageOf(ANSWERS.token_invalid)
  const isOfField = issue !== undefined && Object.hasOwn(ResetForm.properties, String(issue.loc[1]))
  const message = isOfField ? personalFieldMessage(texts, issue, texts.links.reset.newPassword) : undefined
  return message ?? (issue === undefined ? linkMessage(texts, answer) : texts.errors.other(messageOf(answer)))
}
