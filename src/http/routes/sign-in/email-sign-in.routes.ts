import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { EmailSignIn, MailedProof } from '../../../domain/sign-in/email-sign-in.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email, type Static, Type, text, tokenField } from '../../validation/schema.ts'
import { InvalidRequest, RULE_MESSAGES } from '../../validation/validation-error.ts'
import { createApiRoutes } from '../api-routes.ts'
import { answerFirstStep, EmailBody, MessageView, refusedLogin, TokenPairView } from './sign-in.routes.ts'

const ConfirmBody = Type.Object(
  {
    token: Type.Optional(tokenField('The code from the link in the sign-in mail.')),
    email: Type.Optional(Email),
    code: Type.Optional(text('The eight digits of the mail.', '12345678', { maxLength: 40 })),
  },
  { title: 'MailedProof', description: 'Either `token`, or `email` and `code`.' },
)
const REQUESTED = 'Sign-in email sent if user exists'

type Parts = { readonly emailSignIn: EmailSignIn; readonly login: Login; readonly limiter: Limiter }

/** Signing in by mail. Without EMAIL_SIGN_IN, the paths answer 404. */
export function emailSignInRoutes(
  app: App,
  { emailSignIn, login, limiter }: Parts,
  { isDisabled }: { readonly isDisabled: boolean },
): void {
  const api = createApiRoutes(app, 'Accounts')

  api.post('/login/email', 'requestSignInEmail', {
    config: { access: 'public', writes: true, limits: { ip: 'mail:ip', account: 'mail:account' }, isDisabled },
    summary: 'Request a sign-in mail',
    description:
      'The mail has a link and a code. One of them works once, within 15 minutes. An account that is not verified gets its verification mail ' +
      'instead. The response is the same for every address, so that it does not reveal who has an account.',
    body: EmailBody,
    response: { 200: described(MessageView, 'The request is accepted.', { message: REQUESTED }) },
    handle: async ({ origin, body }) => {
      await emailSignIn.request(origin, body.email)
      return { message: REQUESTED }
    },
  })

  api.post('/login/email/confirm', 'confirmSignInEmail', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip' }, isDisabled },
    summary: 'Log in with a mailed link or code',
    description:
      'Starts a session, with the `code` of the link as `token`, or with the address and the eight digits. Five wrong codes end both. An account ' +
      'with a second factor gets 401 `second_factor_required` with a `challenge` for `/login/second-factor`.',
    body: ConfirmBody,
    response: {
      200: described(TokenPairView, 'The tokens of a new session.'),
      refuses: ['code_refused', 'second_step', 429],
      errors: refusedLogin('code_refused', 'second_step'),
    },
    handle: async ({ origin, places, body }, reply) => {
      const proof = proofOf(body)
      return answerFirstStep(reply, await limiter.settle(places, origin, () => login.api.byMail(origin, proof)))
    },
  })
}

function proofOf({ token, email, code }: Static<typeof ConfirmBody>): MailedProof {
  if (token !== undefined && email === undefined && code === undefined) return { token }
  if (token === undefined && email !== undefined && code !== undefined) return { email, code }
  throw new InvalidRequest([{ loc: ['body'], ...RULE_MESSAGES.notExactlyOneOf(['token', 'email with code']) }])
}
