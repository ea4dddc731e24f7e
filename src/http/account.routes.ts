import type { Accounts } from '../domain/accounts.service.ts'
import type { Sessions } from '../domain/sessions.service.ts'
import { LoginBody, RefreshBody, RegisterBody, TokenPairView, TokenView } from './account.schemas.ts'
import type { App } from './app-type.ts'
import { clientGone } from './client.ts'
import { Empty, refusals } from './replies.ts'

export function accountRoutes(app: App, accounts: Accounts, sessions: Sessions): void {
  app.post(
    '/register/',
    {
      config: { access: 'public', event: 'register' },
      schema: { body: RegisterBody, response: { 201: TokenPairView, ...refusals(400, 413, 422, 503) } },
    },
    async (request, reply) => {
      const { email, password, first_name, last_name } = request.body
      const { userId, token, refresh } = await accounts.register(
        { email, password, firstName: first_name, lastName: last_name },
        clientGone(reply),
      )
      request.subject = userId
      return reply.code(201).send({ token, refresh })
    },
  )

  app.post(
    '/login/',
    {
      config: { access: 'public', event: 'login' },
      schema: { body: LoginBody, response: { 200: TokenPairView, ...refusals(400, 401, 413, 422, 503) } },
    },
    async (request, reply) => {
      const { userId, token, refresh } = await sessions.login(request.body.email, request.body.password, clientGone(reply))
      request.subject = userId
      return { token, refresh }
    },
  )

  app.post(
    '/refresh/',
    { config: { access: 'public' }, schema: { body: RefreshBody, response: { 200: TokenView, ...refusals(401, 413, 422, 503) } } },
    async (request) => ({ token: await sessions.refresh(request.body.refresh) }),
  )

  app.post(
    '/logout/',
    { config: { access: 'user', event: 'logout' }, schema: { response: { 204: Empty, ...refusals(400, 401, 413, 503) } } },
    async (request, reply) => {
      await sessions.logout(request.caller)
      return reply.code(204).send()
    },
  )
}
