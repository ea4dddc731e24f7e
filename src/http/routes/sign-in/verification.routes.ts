import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import { wantsHtml } from '../../answers/errors.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { failedLinkPage, type LinkTexts, type Pages, pageErrors, sendPage } from '../../web/site/pages.ts'
import { createApiRoutes } from '../api-routes.ts'
import { DetailView, EmailBody, MessageView, VerifyQuery } from './sign-in.routes.ts'

const VERIFIED = 'User successfully Verified'
const RESENT = 'Verification email sent if user exists and is not verified'

const LINK: LinkTexts = {
  done: ['Your address is already verified', 'You can sign in.'],
  expired: 'Verification links work for 24 hours. Request a new verification email, and open the link in it.',
  invalid: 'Open the complete link from your latest verification email, or request a new one.',
  helpPage: 'resend-verification',
}

export function verificationRoutes(app: App, registration: Registration, pages: Pages): void {
  const api = createApiRoutes(app, 'Accounts')
  api.get('/verify/', {
    config: { access: 'public', writes: true },
    exposeHeadRoute: false,
    errorHandler: pageErrors(wantsHtml, (answer) => failedLinkPage(pages, answer, LINK)),
    operationId: 'verify',
    summary: 'Verify an address',
    description: 'The target of the link in the verification mail. The code works once, within 24 hours. Browsers get a page.',
    page: true,
    querystring: VerifyQuery,
    response: {
      200: described(DetailView, 'The address is verified.', { detail: VERIFIED }),
      ...refusals('token_invalid', 'token_expired', 'already_verified', 'user_not_found', 503),
    },
    handle: async (request, reply) => {
      await registration.verify(request.origin, request.query.code)
      if (wantsHtml(request)) return sendPage(reply, 200, pages.done('Your address is verified', 'You can now sign in.'))
      return { detail: VERIFIED }
    },
  })

  api.post('/verify/resend/', {
    config: { access: 'public', writes: true, limits: { ip: 'mail:ip', account: 'mail:account' } },
    operationId: 'resendVerification',
    summary: 'Request a new verification mail',
    description: 'The response is the same for every address, so that it does not reveal who has an account.',
    body: EmailBody,
    response: { 200: described(MessageView, 'The request is accepted.', { message: RESENT }), ...refusals(413, 429, 503) },
    handle: async (request) => {
      await registration.resendVerification(request.origin, request.body.email)
      return { message: RESENT }
    },
  })
}
