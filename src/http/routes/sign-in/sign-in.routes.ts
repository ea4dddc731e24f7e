import type { FastifyReply } from 'fastify'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { TokenPair } from '../../../domain/sessions/sessions.service.ts'
import type { HandOffs } from '../../../domain/sign-in/hand-off.service.ts'
import type { Login, LoginResult } from '../../../domain/sign-in/login.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import { ANSWERS } from '../../answers/answers.ts'
import { wantsHtml } from '../../answers/errors.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email, FirstName, GivenPassword, LastName, NewPassword, TOKEN_EXAMPLE, Type, text, tokenField } from '../../validation/schema.ts'
import { failedLinkPage, type Pages, pageErrors } from '../../web/site/pages.ts'
import { createApiRoutes } from '../api-routes.ts'

const RegisterBody = Type.Object(
  { email: Email, password: NewPassword, first_name: FirstName, last_name: LastName },
  { title: 'Registration', description: 'A new account.' },
)
const LoginBody = Type.Object({ email: Email, password: GivenPassword }, { title: 'Login', description: 'The credentials of an account.' })
const RefreshBody = Type.Object(
  { refresh: tokenField('The `refresh` token from a login or a registration.') },
  { title: 'Refresh', description: 'A refresh token.' },
)
export const EmailBody = Type.Object({ email: Email }, { title: 'EmailAddress', description: 'The address that a mail is sent to.' })
const VerifyQuery = Type.Object({ code: tokenField('The code from the link in the verification mail.') })
export const ConfirmQuery = Type.Object({ code: tokenField('The code from the link in the mail to the new address.') })

const AccessToken = text('The access token: send it as `Authorization: Bearer …`. It is valid for 120 minutes.', TOKEN_EXAMPLE)

export const TokenPairView = Type.Object(
  {
    token: AccessToken,
    refresh: text('The refresh token: exchange it for a new access token at `/refresh/`. It is valid for 30 days.', TOKEN_EXAMPLE),
  },
  { title: 'TokenPair', description: 'The two tokens of a session.' },
)
const TokenView = Type.Object({ token: AccessToken }, { title: 'AccessToken', description: 'A new access token.' })
export const DetailView = Type.Object(
  { detail: text('What was done, for people.', 'User successfully Verified') },
  { title: 'Detail', description: 'The result of the request.' },
)
export const MessageView = Type.Object(
  { message: text('What was done, for people.', 'Password successfully reset') },
  { title: 'Message', description: 'The result of the request.' },
)

const SECOND_STEP = ANSWERS.second_step

const LoginRefusedView = Type.Object(
  {
    detail: text('What went wrong, for people.', SECOND_STEP.detail),
    challenge: Type.Optional(text('For `POST /login/second-factor`, within five minutes.', 'b3BhcXVl')),
    methods: Type.Optional(
      Type.Array(Type.Enum(['totp', 'recovery_code', 'passkey'], { type: 'string' }), {
        description: 'What the second step accepts.',
        examples: [['totp', 'recovery_code']],
      }),
    ),
  },
  { title: 'LoginRefused', description: 'With `second_factor_required`, it also has what the second step needs.' },
)

/** The response to a login that is refused with 401, for one of these reasons. If it needs a second step, it also has what that needs. */
export function refusedLogin(...codes: readonly ('login_banned' | 'login_unverified' | 'code_refused' | 'second_step')[]) {
  return { 401: { ...refusals(...codes)[401], ...LoginRefusedView } }
}

/** The response to the first step of a login: the tokens, or what the second step needs. */
export function answerFirstStep(reply: FastifyReply, result: LoginResult<TokenPair>): TokenPair | FastifyReply {
  if (result.kind === 'session') return result.session
  const { challenge, methods } = result
  const { status, headers, detail } = SECOND_STEP
  return reply.code(status).headers(headers).header('www-authenticate', 'Bearer').send({ detail, challenge, methods })
}

type SignInParts = { readonly registration: Registration; readonly login: Login; readonly limiter: Limiter }

export function accountRoutes(app: App, { registration, login, limiter }: SignInParts): void {
  const api = createApiRoutes(app, 'Accounts')
  api.post('/register/', 'register', {
    config: { access: 'public', writes: true, limits: { ip: 'register:ip' } },
    summary: 'Register',
    description:
      'Creates an account and mails a link that verifies its address. The tokens work on protected endpoints once the address is verified.',
    body: RegisterBody,
    response: { 201: described(TokenPairView, 'The account is created, and the verification mail is queued.'), refuses: ['email_taken'] },
    handle: async ({ origin, body }, reply) => {
      const { email, password, first_name, last_name } = body
      const pair = await registration.register(origin, { email, password, firstName: first_name, lastName: last_name })
      return reply.code(201).send(pair)
    },
  })

  api.post('/login/', 'login', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip', account: 'login:account' } },
    summary: 'Log in',
    description:
      'Starts a session. It ends after 30 days, or when the user logs out. An account with a second factor gets 401 ' +
      '`second_factor_required` with a `challenge` for `/login/second-factor`.',
    body: LoginBody,
    response: {
      200: described(TokenPairView, 'The tokens of a new session.'),
      refuses: ['wrong_credentials', 'login_banned', 'login_unverified', 'second_step'],
      errors: refusedLogin('login_banned', 'login_unverified', 'second_step'),
    },
    handle: async ({ origin, places, body: { email, password } }, reply) =>
      answerFirstStep(reply, await limiter.settle(places, origin, () => login.api.byPassword(origin, email, password))),
  })

  api.post('/refresh/', 'refresh', {
    config: { access: 'public', writes: false, skipsDeadline: true, limits: { ip: 'refresh:ip' } },
    summary: 'Get a new access token',
    description: 'The refresh token stays the same.',
    body: RefreshBody,
    response: { 200: described(TokenView, 'A new access token.'), refuses: ['token_invalid', 'token_expired'] },
    handle: async (request) => ({ token: await login.refresh(request.body.refresh) }),
  })

  api.post('/logout/', 'logout', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, worksWithoutFactor: true },
    summary: 'Log out',
    description: 'Ends the session: its access tokens and its refresh token stop working. An API key has no session to end.',
    response: { 204: Empty, refuses: ['no_session'] },
    handle: (request) => login.logout(request.actor),
  })
}

const VERIFIED = 'User successfully Verified'
const RESENT = 'Verification email sent if user exists and is not verified'

export function verificationRoutes(app: App, registration: Registration, pages: Pages): void {
  const api = createApiRoutes(app, 'Accounts')
  api.get('/verify/', 'verify', {
    config: { access: 'public', writes: true },
    exposeHeadRoute: false,
    errorHandler: pageErrors(pages, wantsHtml, (texts, answer) =>
      failedLinkPage(pages, texts, answer, { ...texts.links.verification, helpPage: 'resend-verification' }),
    ),
    summary: 'Verify an address',
    description: 'The target of the link in the verification mail. The code works once, within 24 hours. Browsers get a page.',
    page: true,
    querystring: VerifyQuery,
    response: {
      200: described(DetailView, 'The address is verified.', { detail: VERIFIED }),
      refuses: ['token_invalid', 'token_expired', 'already_verified', 'user_not_found'],
    },
    handle: async (request, reply) => {
      await registration.verify(request.origin, request.query.code)
      if (!wantsHtml(request)) return { detail: VERIFIED }
      const texts = pages.textsOf(request)
      return pages.send(reply, 200, pages.done(texts, texts.links.verification.done))
    },
  })

  api.post('/verify/resend/', 'resendVerification', {
    config: { access: 'public', writes: true, limits: { ip: 'mail:ip', account: 'mail:account' } },
    summary: 'Request a new verification mail',
    description: 'The response is the same for every address, so that it does not reveal who has an account.',
    body: EmailBody,
    response: { 200: described(MessageView, 'The request is accepted.', { message: RESENT }) },
    handle: async (request) => {
      await registration.resendVerification(request.origin, request.body.email)
      return { message: RESENT }
    },
  })
}

const ExchangeBody = Type.Object(
  {
    code: text('The `code` with which the account pages led back to the product.', 'Y29kZQ', { maxLength: 200 }),
    code_verifier: text('What `code_challenge` is the SHA-256 of, in base64url (RFC 7636).', 'dmVyaWZpZXI', { maxLength: 200 }),
  },
  { title: 'Exchange', description: 'A code of the account pages, and the verifier of its challenge.' },
)

type HandOffParts = { readonly handOffs: HandOffs; readonly limiter: Limiter }

/** The product takes over somebody who has signed in on the account pages. Without these pages, the path answers 404. */
export function handOffRoutes(app: App, { handOffs, limiter }: HandOffParts, { isDisabled }: { readonly isDisabled: boolean }): void {
  createApiRoutes(app, 'Accounts').post('/login/exchange', 'exchangeCode', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip' }, isDisabled },
    summary: 'Exchange a code of the account pages',
    description:
      'Starts a session for the person who has signed in at `/account/sign-in?return_to=…&code_challenge=…&state=…`. The code works once, within ' +
      '60 seconds. A wrong verifier ends it, and a second use also ends the session that the first one has opened.',
    body: ExchangeBody,
    response: { 200: described(TokenPairView, 'The tokens of a new session.'), refuses: ['code_refused'] },
    handle: ({ origin, places, body }) => limiter.settle(places, origin, () => handOffs.exchange(origin, body.code, body.code_verifier)),
  })
}
