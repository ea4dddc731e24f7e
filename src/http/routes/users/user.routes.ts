import type { Users } from '../../../domain/users/users.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { EditBody, PasswordBody, ProfileView, profileView, UserPath } from './user.schemas.ts'

/** The routes for the account of the caller. `confirmsEmail`: a new address takes effect when the link that is mailed to it is opened. */
export function userRoutes(app: App, users: Users, confirmsEmail: boolean): void {
  const edit = confirmsEmail ? users.editAndConfirm : users.edit

  app.get(
    '/users/me',
    {
      config: { access: 'user', acceptedKeys: 'identify', writes: false, skipsDeadline: true },
      schema: {
        operationId: 'getOwnProfile',
        summary: 'Get your own account',
        description: 'The account that the token or the API key belongs to.',
        tags: ['Users'],
        response: { 200: described(ProfileView, 'Your account.'), ...refusals(401, 503) },
      },
    },
    async (request) => profileView(request.caller.user),
  )

  app.put(
    '/users/:user_id',
    {
      config: { access: 'self', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'editUser',
        summary: 'Edit an account',
        description:
          'A new e-mail address takes effect at once and counts as verified or, with CONFIRM_EMAIL_CHANGES, once the link that is mailed to it is opened: until then the response has the present address. A new password ends all other sessions of the account.',
        tags: ['Users'],
        params: UserPath,
        body: EditBody,
        response: {
          200: described(ProfileView, 'The updated account.'),
          ...refusals('email_taken', 401, 403, 'user_not_found', 413, 429, 503),
        },
      },
    },
    async ({ actor, params, body }) => {
      const { email, password, first_name, last_name } = body
      return profileView(await edit(actor, params.user_id, { email, password, firstName: first_name, lastName: last_name }))
    },
  )

  app.post(
    '/users/:user_id/password',
    {
      config: { access: 'self', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'changePassword',
        summary: 'Change a password',
        description: 'All other sessions of the account end; its API keys stay valid.',
        tags: ['Users'],
        params: UserPath,
        body: PasswordBody,
        response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 413, 503) },
      },
    },
    async ({ actor, params, body }, reply) => {
      await users.changePassword(actor, params.user_id, body.password)
      return reply.code(204).send()
    },
  )
}
