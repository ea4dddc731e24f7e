import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import type { Html } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { wantsHtml } from '../../answers/client.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { messageOf } from '../../web/site/messages.ts'
import { type Pages, pageErrors, sendPage } from '../../web/site/pages.ts'
import { DetailView, EmailBody, MessageView, VerifyQuery } from './sign-in.schemas.ts'

const VERIFIED = 'User successfully Verified'
const RESENT = 'Verification email sent if user exists and is not verified'

const EXPIRED_ADVICE = 'Verification links work for 24 hours. Request a new verification email, and open the link in it.'
const INVALID_ADVICE = 'Open the complete link from your latest verification email, or request a new one.'
const GONE_ADVICE = 'The account was deleted. Sign up again to create a new one.'

export function verificationRoutes(app: App, registration: Registration, pages: Pages): void {
  app.get(
    '/verify/',
    {
      config: { access: 'public', writes: true },
      schema: {
        operationId: 'verify',
        summary: 'Verify an address',
        description: 'The target of the link in the verification mail. The code works once, within 24 hours. Browsers get a page.',
        tags: ['Accounts'],
        page: true,
        querystring: VerifyQuery,
        response: {
          200: described(DetailView, 'The address is verified.', { detail: VERIFIED }),
          ...refusals('token_invalid', 'token_expired', 'already_verified', 'user_not_found', 503),
        },
      },
      // A mail scanner that sends HEAD must not use up the token.
      exposeHeadRoute: false,
      errorHandler: pageErrors(wantsHtml, failedPage),
    },
    async (request, reply) => {
      await registration.verify(request.origin, request.query.code)
      if (wantsHtml(request)) return sendPage(reply, 200, pages.done('Your address is verified', 'You can now sign in.'))
      return { detail: VERIFIED }
    },
  )

  function failedPage(answer: Answer): Html {
    if (answer === ANSWERS.already_verified) return pages.done('Your address is already verified', 'You can sign in.')
    const message = messageOf(answer.status === 422 ? ANSWERS.token_invalid : answer)
    if (answer === ANSWERS.token_expired)
      return pages.problem({ title: 'This link has expired', message, advice: EXPIRED_ADVICE, helpPage: 'resend-verification' })
    if (answer === ANSWERS.user_not_found)
      return pages.problem({ title: 'This account no longer exists', message, advice: GONE_ADVICE, helpPage: 'register' })
    return pages.problem({ title: 'This link does not work', message, advice: INVALID_ADVICE, helpPage: 'resend-verification' })
  }

  app.post(
    '/verify/resend/',
    {
      config: { access: 'public', writes: true, limits: { ip: 'mail:ip', account: 'mail:account' } },
      schema: {
        operationId: 'resendVerification',
        summary: 'Request a new verification mail',
        description: 'The response is the same for every address, so that it does not reveal who has an account.',
        tags: ['Accounts'],
        body: EmailBody,
        response: { 200: described(MessageView, 'The request is accepted.', { message: RESENT }), ...refusals(413, 429, 503) },
      },
    },
    async (request) => {
      await registration.resendVerification(request.origin, request.body.email)
      return { message: RESENT }
    },
  )
}
