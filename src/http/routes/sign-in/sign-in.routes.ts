import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { LoginBody, RefreshBody, RegisterBody, TokenPairView, TokenView } from './sign-in.schemas.ts'

type SignInParts = { readonly registration: Registration; readonly login: Login; readonly limiter: Limiter }

export function accountRoutes(app: App, { registration, login, limiter }: SignInParts): void {
  app.post(
    '/register/',
    {
      config: { access: 'public', writes: true, limits: { ip: 'register:ip' } },
      schema: {
        operationId: 'register',
        summary: 'Register',
        description:
          'Creates an account and mails a link that verifies its address. The tokens work on protected endpoints once the address is verified.',
        tags: ['Accounts'],
        body: RegisterBody,
        response: {
          201: described(TokenPairView, 'The account is created, and the verification mail is queued.'),
          ...refusals('email_taken', 413, 429, 503),
        },
      },
    },
    async ({ origin, body }, reply) => {
      const { email, password, first_name, last_name } = body
      const pair = await registration.register(origin, { email, password, firstName: first_name, lastName: last_name })
      return reply.code(201).send(pair)
    },
  )

  app.post(
    '/login/',
    {
      config: { access: 'public', writes: true, limits: { ip: 'login:ip', account: 'login:account' } },
      schema: {
        operationId: 'login',
        summary: 'Log in',
        description: 'Starts a session. It ends after 30 days, or when the user logs out.',
        tags: ['Accounts'],
        body: LoginBody,
        response: {
          200: described(TokenPairView, 'The tokens of a new session.'),
          ...refusals('wrong_credentials', 'login_banned', 'login_unverified', 413, 429, 503),
        },
      },
    },
    async ({ origin, places, body: { email, password } }) => {
      const result = await limiter.settle(places, email, origin, () => login.login(origin, email, password))
      switch (result.kind) {
        case 'session':
          return result.session
      }
    },
  )

  app.post(
    '/refresh/',
    {
      config: { access: 'public', writes: false, skipsDeadline: true, limits: { ip: 'refresh:ip' } },
      schema: {
        operationId: 'refresh',
        summary: 'Get a new access token',
        description: 'The refresh token stays the same.',
        tags: ['Accounts'],
        body: RefreshBody,
        response: { 200: described(TokenView, 'A new access token.'), ...refusals('token_invalid', 'token_expired', 413, 429, 503) },
      },
    },
    async (request) => ({ token: await login.refresh(request.body.refresh) }),
  )

  app.post(
    '/logout/',
    {
      config: { access: 'user', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'logout',
        summary: 'Log out',
        description: 'Ends the session: its access tokens and its refresh token stop working. An API key has no session to end.',
        tags: ['Accounts'],
        response: { 204: Empty, ...refusals('no_session', 401, 403, 413, 503) },
      },
    },
    async (request, reply) => {
      await login.logout(request.actor)
      return reply.code(204).send()
    },
  )
}
