import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { SelfDeletion } from '../../../domain/sign-in/self-deletion.service.ts'
import type { EmailChanges } from '../../../domain/users/email-changes.service.ts'
import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { Users } from '../../../domain/users/users.service.ts'
import type { Html } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { wantsHtml } from '../../answers/errors.ts'
import { described, Empty } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import { messageOf } from '../../web/site/messages.ts'
import { failedLinkPage, type LinkTexts, type Pages, pageErrors, sendPage } from '../../web/site/pages.ts'
import { createApiRoutes } from '../api-routes.ts'
import { ConfirmQuery, DetailView } from '../sign-in/sign-in.routes.ts'
import {
  EditBody,
  FoundUsersView,
  foundUsersView,
  OwnPasswordBody,
  PasswordBody,
  ProfileView,
  profileView,
  SearchQuery,
  toUserSearch,
  UserOrUsersView,
  UserPath,
  UserQuery,
  userView,
} from './user.schemas.ts'

/** The routes for the account of the caller. `confirmsEmail`: a new address takes effect when the link that is mailed to it is opened. */
export function userRoutes(app: App, users: Users, { confirmsEmail }: { readonly confirmsEmail: boolean }): void {
  const api = createApiRoutes(app, 'Users')
  const edit = confirmsEmail ? users.editAndConfirm : users.edit

  api.get('/users/me', {
    config: { access: 'user', acceptedKeys: 'identify', writes: false, skipsDeadline: true, worksWithoutFactor: true },
    operationId: 'getOwnProfile',
    summary: 'Get your own account',
    description: 'The account that the token or the API key belongs to.',
    response: { 200: described(ProfileView, 'Your account.') },
    handle: async (request) => profileView(request.caller.user),
  })

  api.put('/users/:user_id', {
    config: { access: 'self', acceptedKeys: 'full', writes: true },
    operationId: 'editUser',
    summary: 'Edit an account',
    description:
      'A new e-mail address takes effect at once and counts as verified or, with CONFIRM_EMAIL_CHANGES, once the link that is mailed to it is opened: until then the response has the present address. A new password ends all other sessions of the account.',
    params: UserPath,
    body: EditBody,
    response: {
      200: described(ProfileView, 'The updated account.'),
      refuses: ['email_taken', 'confirmation_required', 'user_not_found', 429],
    },
    handle: async ({ actor, params, body }) => {
      const { email, password, first_name, last_name } = body
      return profileView(await edit(actor, params.user_id, { email, password, firstName: first_name, lastName: last_name }))
    },
  })

  api.post('/users/:user_id/password', {
    config: { access: 'self', acceptedKeys: 'full', writes: true },
    operationId: 'changePassword',
    summary: 'Change a password',
    description: 'All other sessions of the account end; its API keys stay valid.',
    params: UserPath,
    body: PasswordBody,
    response: { 204: Empty, refuses: ['confirmation_required', 'user_not_found'] },
    handle: ({ actor, params, body }) => users.changePassword(actor, params.user_id, body.password),
  })
}

const CHANGED = 'Email successfully changed'

const TAKEN_ADVICE = 'Another account has started to use this address. Sign in to that account, or choose another address.'
const ADVICE =
  'Links work once, within 24 hours, and a newer one replaces them. Change the address of your account again to get a new link.'
const LINK: LinkTexts = {
  done: ['Your new address is already confirmed', 'Use it to sign in.'],
  expired: ADVICE,
  invalid: ADVICE,
  helpPage: 'sign-in',
}

export function emailChangeRoutes(app: App, emailChanges: EmailChanges, pages: Pages): void {
  const api = createApiRoutes(app, 'Users')
  api.get('/confirm-email/', {
    config: { access: 'public', writes: true },
    exposeHeadRoute: false,
    errorHandler: pageErrors(wantsHtml, failedPage),
    operationId: 'confirmEmail',
    summary: 'Confirm a new address',
    description:
      'The target of the link in the mail to a new address: the account has this address from now on. The code works once, within 24 hours. Browsers get a page.',
    page: true,
    querystring: ConfirmQuery,
    response: {
      200: described(DetailView, 'The address is changed.', { detail: CHANGED }),
      refuses: ['email_taken', 'token_invalid', 'token_expired', 'already_verified', 'user_not_found'],
    },
    handle: async (request, reply) => {
      await emailChanges.confirm(request.origin, request.query.code)
      if (wantsHtml(request)) return sendPage(reply, 200, pages.done('Your new address is confirmed', 'Use it to sign in from now on.'))
      return { detail: CHANGED }
    },
  })

  function failedPage(answer: Answer): Html {
    if (answer !== ANSWERS.email_taken) return failedLinkPage(pages, answer, LINK)
    return pages.problem({ title: 'This address is taken', message: messageOf(answer), advice: TAKEN_ADVICE, helpPage: 'sign-in' })
  }
}

export function selfDeletionRoutes(app: App, selfDeletion: SelfDeletion, limiter: Limiter): void {
  const api = createApiRoutes(app, 'Users')
  api.delete('/users/me', {
    // Older versions did not limit the number of keys, so a user may own very many.
    config: { access: 'user', acceptedKeys: 'full', writes: true, deadlineMs: 25_000 },
    operationId: 'deleteOwnAccount',
    summary: 'Delete your own account',
    description:
      'Deletes the account and its API keys permanently. It exists where SELF_DELETION is set. The last admin cannot leave. A wrong password counts like a failed login.',
    body: OwnPasswordBody,
    response: { 204: Empty, refuses: ['wrong_credentials', 'last_admin', 429] },
    handle: ({ actor, body }) => selfDeletion.remove(actor, body.password, limiter),
  })
}

/** Account management for admins. */
export function userAdministrationRoutes(app: App, administration: UserAdministration): void {
  const api = createApiRoutes(app, 'User administration')
  api.get('/users/', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    operationId: 'listUsers',
    summary: 'List all users, or show one',
    description: 'In order of id. With `user_id`, the response is that user instead of a list.',
    querystring: UserQuery,
    response: { 200: described(UserOrUsersView, 'All users, or the one that was requested.'), refuses: ['user_not_found'] },
    handle: async ({ actor, query }, reply) => {
      if (query.user_id !== undefined) return userView(await administration.find(query.user_id))
      return sendList(reply, administration.list(actor), userView)
    },
  })

  api.get('/users/search', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    operationId: 'searchUsers',
    summary: 'Search for users',
    description: 'In order of id, a page at a time. `%` and `_` have no special meaning.',
    querystring: SearchQuery,
    response: { 200: described(FoundUsersView, 'One page of the results.') },
    handle: async ({ query }) => {
      const search = toUserSearch(query)
      return foundUsersView(await administration.search(search), search)
    },
  })

  api.post('/users/:user_id/make-admin', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'makeAdmin',
    summary: 'Make a user an admin',
    description: 'This cannot be undone over HTTP.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => administration.makeAdmin(actor, params.user_id),
  })

  api.post('/users/:user_id/ban', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'banUser',
    summary: 'Ban a user',
    description: 'Takes effect with the next request: logins, sessions, API keys and password resets are refused.',
    params: UserPath,
    response: { 204: Empty, refuses: ['ban_self', 'user_not_found'] },
    handle: ({ actor, params }) => administration.ban(actor, params.user_id),
  })

  api.post('/users/:user_id/unban', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'unbanUser',
    summary: 'Unban a user',
    description: 'Sessions and API keys work again as before.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => administration.unban(actor, params.user_id),
  })

  api.delete('/users/:user_id', {
    // Older versions did not limit the number of keys, so a user may own very many.
    config: { access: 'admin', acceptedKeys: 'full', writes: true, deadlineMs: 25_000 },
    operationId: 'deleteUser',
    summary: 'Delete a user',
    description: 'Deletes the account and its API keys permanently. The last admin cannot be deleted.',
    params: UserPath,
    response: { 204: Empty, refuses: ['last_admin', 'user_not_found'] },
    handle: ({ actor, params }) => administration.remove(actor, params.user_id),
  })
}
