import type { Users } from '../domain/users.service.ts'
import type { App } from './app-type.ts'
import { clientGone } from './client.ts'
import { Empty, refusals } from './replies.ts'
import { EditBody, PasswordBody, ProfileView, profileView, UserPath } from './user.schemas.ts'

/** What users do with their own accounts. */
export function userRoutes(app: App, users: Users): void {
  app.get('/users/me', { config: { access: 'user' }, schema: { response: { 200: ProfileView, ...refusals(401, 503) } } }, async (request) =>
    profileView(request.caller.user),
  )

  app.put(
    '/users/:user_id',
    {
      config: { access: 'self', event: 'user_edited' },
      schema: { params: UserPath, body: EditBody, response: { 200: ProfileView, ...refusals(400, 401, 403, 404, 413, 422, 503) } },
    },
    async ({ caller, params, body }, reply) => {
      const { email, password, first_name, last_name } = body
      const edit = { email, password, firstName: first_name, lastName: last_name }
      return profileView(await users.edit(caller, params.user_id, edit, clientGone(reply)))
    },
  )

  app.post(
    '/users/:user_id/password',
    {
      config: { access: 'self', event: 'password_changed' },
      schema: { params: UserPath, body: PasswordBody, response: { 204: Empty, ...refusals(401, 403, 404, 413, 422, 503) } },
    },
    async ({ caller, params, body }, reply) => {
      await users.changePassword(caller, params.user_id, body.password, clientGone(reply))
      return reply.code(204).send()
    },
  )
}
