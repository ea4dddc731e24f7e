import type { EmailChanges } from '../../../domain/users/email-changes.service.ts'
import type { Html } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { wantsHtml } from '../../answers/client.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { messageOf } from '../../web/site/messages.ts'
import { type Pages, pageErrors, sendPage } from '../../web/site/pages.ts'
import { ConfirmQuery, DetailView } from '../sign-in/sign-in.schemas.ts'

const CHANGED = 'Email successfully changed'

const ADVICE =
  'Links work once, within 24 hours, and a newer one replaces them. Change the address of your account again to get a new link.'
const TAKEN_ADVICE = 'Another account has started to use this address. Sign in to that account, or choose another address.'
const GONE_ADVICE = 'The account was deleted. Sign up again to create a new one.'

export function emailChangeRoutes(app: App, emailChanges: EmailChanges, pages: Pages): void {
  app.get(
    '/confirm-email/',
    {
      config: { access: 'public', writes: true },
      schema: {
        operationId: 'confirmEmail',
        summary: 'Confirm a new address',
        description:
          'The target of the link in the mail to a new address: the account has this address from now on. The code works once, within 24 hours. Browsers get a page.',
        tags: ['Users'],
        page: true,
        querystring: ConfirmQuery,
        response: {
          200: described(DetailView, 'The address is changed.', { detail: CHANGED }),
          ...refusals('email_taken', 'token_invalid', 'token_expired', 'already_verified', 'user_not_found', 503),
        },
      },
      // A mail scanner that sends HEAD must not use up the token.
      exposeHeadRoute: false,
      errorHandler: pageErrors(wantsHtml, failedPage),
    },
    async (request, reply) => {
      await emailChanges.confirm(request.origin, request.query.code)
      if (wantsHtml(request)) return sendPage(reply, 200, pages.done('Your new address is confirmed', 'Use it to sign in from now on.'))
      return { detail: CHANGED }
    },
  )

  function failedPage(answer: Answer): Html {
    if (answer === ANSWERS.already_verified) return pages.done('Your new address is already confirmed', 'Use it to sign in.')
    const message = messageOf(answer.status === 422 ? ANSWERS.token_invalid : answer)
    if (answer === ANSWERS.email_taken)
      return pages.problem({ title: 'This address is taken', message, advice: TAKEN_ADVICE, helpPage: 'sign-in' })
    if (answer === ANSWERS.token_expired)
      return pages.problem({ title: 'This link has expired', message, advice: ADVICE, helpPage: 'sign-in' })
    if (answer === ANSWERS.user_not_found)
      return pages.problem({ title: 'This account no longer exists', message, advice: GONE_ADVICE, helpPage: 'register' })
    return pages.problem({ title: 'This link does not work', message, advice: ADVICE, helpPage: 'sign-in' })
  }
}
