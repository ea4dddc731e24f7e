import type { Accounts } from '../../domain/accounts/accounts.service.ts'
import type { App } from '../pipeline/app-type.ts'
import { wantsHtml } from '../pipeline/client.ts'
import { described, refusals } from '../pipeline/replies.ts'
import { messageOf, type Pages, pageErrors, sendPage } from '../web/pages.ts'
import { DetailView, EmailBody, MessageView, VerifyQuery } from './account.schemas.ts'

const VERIFIED = 'User successfully Verified'
const RESENT = 'Verification email sent if user exists and is not verified'
const ADVICE = 'The link may have been used already, or be older than 24 hours. Try to log in, or ask for a new verification mail.'

export function verificationRoutes(app: App, accounts: Accounts, pages: Pages): void {
  app.get(
    '/verify/',
    {
      config: { access: 'public', writes: true, event: 'verify' },
      schema: {
        operationId: 'verify',
        summary: 'Verify an address',
        description: 'The target of the link in the verification mail. The code works once, for 24 hours. Browsers get a page.',
        tags: ['Accounts'],
        page: true,
        querystring: VerifyQuery,
        response: {
          200: described(DetailView, 'The address is verified.', { detail: VERIFIED }),
          ...refusals('token_invalid', 'token_expired', 'user_not_found', 503),
        },
      },
      // A mail scanner that sends HEAD must not use up the token.
      exposeHeadRoute: false,
      errorHandler: pageErrors(wantsHtml, (answer) => pages.problem('Your address is not verified', messageOf(answer), ADVICE)),
    },
    async (request, reply) => {
      await accounts.verify(request.origin, request.query.code)
      if (wantsHtml(request)) return sendPage(reply, 200, pages.done('Your address is verified', 'You can log in now.'))
      return { detail: VERIFIED }
    },
  )

  app.post(
    '/verify/resend/',
    {
      config: { access: 'public', writes: true, event: 'verification_requested' },
      schema: {
        operationId: 'resendVerification',
        summary: 'Ask for a new verification mail',
        description: 'The answer is the same for every address, so that it tells nothing about who has an account.',
        tags: ['Accounts'],
        body: EmailBody,
        response: { 200: described(MessageView, 'The request is noted.', { message: RESENT }), ...refusals(413, 503) },
      },
    },
    async (request) => {
      await accounts.resendVerification(request.origin, request.body.email)
      return { message: RESENT }
    },
  )
}
