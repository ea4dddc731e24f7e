import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import {
  ConfirmationCode,
  Email,
  FirstName,
  GivenPassword,
  LastName,
  NewPassword,
  RefreshToken,
  TOKEN_EXAMPLE,
  Type,
  text,
  VerificationCode,
} from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'

const RegisterBody = Type.Object(
  { email: Email, password: NewPassword, first_name: FirstName, last_name: LastName },
  { title: 'Registration', description: 'A new account.' },
)
const LoginBody = Type.Object({ email: Email, password: GivenPassword }, { title: 'Login', description: 'The credentials of an account.' })
const RefreshBody = Type.Object({ refresh: RefreshToken }, { title: 'Refresh', description: 'A refresh token.' })
export const EmailBody = Type.Object({ email: Email }, { title: 'EmailAddress', description: 'The address that a mail is sent to.' })
export const VerifyQuery = Type.Object({ code: VerificationCode })
export const ConfirmQuery = Type.Object({ code: ConfirmationCode })

const AccessToken = text('The access token: send it as `Authorization: Bearer …`. It is valid for 120 minutes.', TOKEN_EXAMPLE)

const TokenPairView = Type.Object(
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

type SignInParts = { readonly registration: Registration; readonly login: Login; readonly limiter: Limiter }

export function accountRoutes(app: App, { registration, login, limiter }: SignInParts): void {
  const api = createApiRoutes(app, 'Accounts')
  api.post('/register/', {
    config: { access: 'public', writes: true, limits: { ip: 'register:ip' } },
    operationId: 'register',
    summary: 'Register',
    description:
      'Creates an account and mails a link that verifies its address. The tokens work on protected endpoints once the address is verified.',
    body: RegisterBody,
    response: {
      201: described(TokenPairView, 'The account is created, and the verification mail is queued.'),
      ...refusals('email_taken', 413, 429, 503),
    },
    handle: async ({ origin, body }, reply) => {
      const { email, password, first_name, last_name } = body
      const pair = await registration.register(origin, { email, password, firstName: first_name, lastName: last_name })
      return reply.code(201).send(pair)
    },
  })

  api.post('/login/', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip', account: 'login:account' } },
    operationId: 'login',
    summary: 'Log in',
    description: 'Starts a session. It ends after 30 days, or when the user logs out.',
    body: LoginBody,
    response: {
      200: described(TokenPairView, 'The tokens of a new session.'),
      ...refusals('wrong_credentials', 'login_banned', 'login_unverified', 413, 429, 503),
    },
    handle: async ({ origin, places, body: { email, password } }) => {
      const result = await limiter.settle(places, email, origin, () => login.login(origin, email, password))
      switch (result.kind) {
        case 'session':
          return result.session
      }
    },
  })

  api.post('/refresh/', {
    config: { access: 'public', writes: false, skipsDeadline: true, limits: { ip: 'refresh:ip' } },
    operationId: 'refresh',
    summary: 'Get a new access token',
    description: 'The refresh token stays the same.',
    body: RefreshBody,
    response: { 200: described(TokenView, 'A new access token.'), ...refusals('token_invalid', 'token_expired', 413, 429, 503) },
    handle: async (request) => ({ token: await login.refresh(request.body.refresh) }),
  })

  api.post('/logout/', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    operationId: 'logout',
    summary: 'Log out',
    description: 'Ends the session: its access tokens and its refresh token stop working. An API key has no session to end.',
    response: { 204: Empty, ...refusals('no_session', 401, 403, 413, 503) },
    handle: (request) => login.logout(request.actor),
  })
}
