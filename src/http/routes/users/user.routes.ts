import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { OwnAccount } from '../../../domain/sign-in/own-account.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import type { EmailChanges } from '../../../domain/users/email-changes.service.ts'
import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { Users } from '../../../domain/users/users.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { Languages } from '../../../model/language.ts'
import type { Html } from '../../../shared/html.ts'
import { ANSWERS, type Answer } from '../../answers/answers.ts'
import { wantsHtml } from '../../answers/errors.ts'
import { described, Empty } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import type { Static } from '../../validation/schema.ts'
import { personalMessage } from '../../web/site/messages.ts'
import { failedLinkPage, type Pages, pageErrors } from '../../web/site/pages.ts'
import type { Texts } from '../../web/texts/texts.ts'
import { createApiRoutes } from '../api-routes.ts'
import { ConfirmQuery, DetailView } from '../sign-in/sign-in.routes.ts'
import {
  editBody,
  FoundUsersView,
  foundUsersView,
  NewUserBody,
  OwnAccountQuery,
  OwnAccountView,
  OwnPasswordBody,
  ownAccountView,
  PasswordBody,
  PasswordChangeBody,
  ProfileView,
  profileView,
  SearchQuery,
  toUserSearch,
  UserOrUsersView,
  UserPath,
  UserQuery,
  UserView,
  userView,
} from './user.schemas.ts'

type UserParts = { readonly users: Users; readonly ownAccount: OwnAccount; readonly limiter: Limiter }

const EDIT_TEXT =
  'A new e-mail address takes effect at once and counts as verified or, with CONFIRM_EMAIL_CHANGES, once the link that is mailed to it is opened: until then the response has the present address. A new password ends all other sessions of the account.'
const EDIT_RESPONSE = {
  200: described(ProfileView, 'The updated account.'),
  refuses: ['email_taken', 'confirmation_required', 'user_not_found', 429],
} as const

/** The routes for the account of the caller. `confirmsEmail`: a new address takes effect when the link that is mailed to it is opened. */
export function userRoutes(
  app: App,
  { users, ownAccount, limiter }: UserParts,
  { confirmsEmail, languages }: { readonly confirmsEmail: boolean; readonly languages: Languages },
): void {
  const api = createApiRoutes(app, 'Users')
  const EditBody = editBody(languages)

  async function edit(actor: Actor, userId: number, { first_name, last_name, ...others }: Static<typeof EditBody>) {
    const changed = { ...others, firstName: first_name, lastName: last_name }
    return profileView(await (confirmsEmail ? users.editAndConfirm : users.edit)(actor, userId, changed))
  }

  api.get('/users/me', 'getOwnProfile', {
    config: { access: 'user', acceptedKeys: 'identify', writes: false, skipsDeadline: true, worksWithoutFactor: true },
    summary: 'Get your own account',
    description: 'The account that the token or the API key belongs to.',
    querystring: OwnAccountQuery,
    response: { 200: described(OwnAccountView, 'Your account.'), refuses: ['user_not_found'] },
    handle: async ({ caller, query }) => (query.details ? ownAccountView(await users.details(caller.user.id)) : profileView(caller.user)),
  })

  api.put('/users/me', 'editOwnAccount', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    summary: 'Edit your own account',
    description: EDIT_TEXT,
    body: EditBody,
    response: EDIT_RESPONSE,
    handle: ({ actor, caller, body }) => edit(actor, caller.user.id, body),
  })

  api.post('/users/me/password', 'changeOwnPassword', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    summary: 'Change your own password',
    description:
      'All other sessions of the account end; its API keys stay valid. A wrong current password counts like a failed login. An account without a password leaves `current_password` out, and its session has to be opened or confirmed within the last ten minutes.',
    body: PasswordChangeBody,
    response: { 204: Empty, refuses: ['wrong_credentials', 'confirmation_required', 'user_not_found', 429] },
    handle: ({ actor, body }) => ownAccount.changePassword(actor, { current: body.current_password, password: body.password }, limiter),
  })

  api.put('/users/:user_id', 'editUser', {
    config: { access: 'self', acceptedKeys: 'full', writes: true },
    summary: 'Edit an account',
    description: EDIT_TEXT,
    params: UserPath,
    body: EditBody,
    response: EDIT_RESPONSE,
    handle: ({ actor, params, body }) => edit(actor, params.user_id, body),
  })

  api.post('/users/:user_id/password', 'changePassword', {
    config: { access: 'self', acceptedKeys: 'full', writes: true },
    summary: 'Change a password',
    description: 'All other sessions of the account end; its API keys stay valid.',
    params: UserPath,
    body: PasswordBody,
    response: { 204: Empty, refuses: ['confirmation_required', 'user_not_found'] },
    handle: ({ actor, params, body }) => users.changePassword(actor, params.user_id, body.password),
  })
}

const CHANGED = 'Email successfully changed'

export function emailChangeRoutes(app: App, emailChanges: EmailChanges, pages: Pages): void {
  const api = createApiRoutes(app, 'Users')
  api.get('/confirm-email/', 'confirmEmail', {
    config: { access: 'public', writes: true },
    exposeHeadRoute: false,
    errorHandler: pageErrors(pages, wantsHtml, failedPage),
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
      if (!wantsHtml(request)) return { detail: CHANGED }
      const texts = pages.textsOf(request)
      return pages.send(reply, 200, pages.done(texts, texts.links.address.done))
    },
  })

  function failedPage(texts: Texts, answer: Answer): Html {
    const { address } = texts.links
    const { again, advice } = address
    if (answer !== ANSWERS.email_taken)
      return failedLinkPage(pages, texts, answer, { again, expired: advice, invalid: advice, helpPage: 'sign-in' })
    const message = personalMessage(texts, answer)
    return pages.problem(texts, { title: address.takenTitle, message, advice: address.taken, helpPage: 'sign-in' })
  }
}

export function selfDeletionRoutes(app: App, ownAccount: OwnAccount, limiter: Limiter): void {
  const api = createApiRoutes(app, 'Users')
  api.delete('/users/me', 'deleteOwnAccount', {
    // Older versions did not limit the number of keys, so a user may own very many.
    config: { access: 'user', acceptedKeys: 'full', writes: true, deadlineMs: 25_000 },
    summary: 'Delete your own account',
    description:
      'Deletes the account and its API keys permanently. It exists where SELF_DELETION is set. The last admin cannot leave. A wrong password counts like a failed login.',
    body: OwnPasswordBody,
    response: { 204: Empty, refuses: ['wrong_credentials', 'last_admin', 429] },
    handle: ({ actor, body }) => ownAccount.remove(actor, body.password, limiter),
  })
}

/** Account management for admins. */
export function userAdministrationRoutes(app: App, administration: UserAdministration, registration: Registration): void {
  const api = createApiRoutes(app, 'User administration')
  api.get('/users/', 'listUsers', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'List all users, or show one',
    description: 'In order of id. With `user_id`, the response is that user instead of a list.',
    querystring: UserQuery,
    response: { 200: described(UserOrUsersView, 'All users, or the one that was requested.'), refuses: ['user_not_found'] },
    handle: async ({ actor, query }, reply) => {
      if (query.user_id !== undefined) return userView(await administration.find(query.user_id))
      return sendList(reply, administration.list(actor), userView)
    },
  })

  api.post('/users/', 'createUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Create a user',
    description:
      'For a back end that manages accounts. No mail is sent. Without a password, nobody can log in until one is set by `POST /forgot-password/` and the link in its mail.',
    body: NewUserBody,
    response: { 201: described(UserView, 'The new user.'), refuses: ['email_taken'] },
    handle: async ({ actor, body }, reply) => {
      const { first_name, last_name, ...account } = body
      reply.code(201)
      return userView(await registration.create(actor, { ...account, firstName: first_name, lastName: last_name }))
    },
  })

  api.get('/users/search', 'searchUsers', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'Search for users',
    description: 'In order of id, a page at a time. `%` and `_` have no special meaning.',
    querystring: SearchQuery,
    response: { 200: described(FoundUsersView, 'One page of the results.') },
    handle: async ({ query }) => {
      const search = toUserSearch(query)
      return foundUsersView(await administration.search(search), search)
    },
  })

  api.post('/users/:user_id/make-admin', 'makeAdmin', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Make a user an admin',
    description: 'The role applies to the very next request.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => administration.makeAdmin(actor, params.user_id),
  })

  api.post('/users/:user_id/revoke-admin', 'revokeAdmin', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Revoke the admin role of a user',
    description: 'Takes effect with the next request. The last admin keeps the role. A user who is not an admin stays as they are.',
    params: UserPath,
    response: { 204: Empty, refuses: ['revoke_last_admin', 'user_not_found'] },
    handle: ({ actor, params }) => administration.revokeAdmin(actor, params.user_id),
  })

  api.post('/users/:user_id/verify', 'verifyUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Mark the address of a user as verified',
    description: 'Logins, sessions and API keys of the user work from now on.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => administration.verify(actor, params.user_id),
  })

  api.post('/users/:user_id/ban', 'banUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Ban a user',
    description: 'Takes effect with the next request: logins, sessions, API keys and password resets are refused.',
    params: UserPath,
    response: { 204: Empty, refuses: ['ban_self', 'user_not_found'] },
    handle: ({ actor, params }) => administration.ban(actor, params.user_id),
  })

  api.post('/users/:user_id/unban', 'unbanUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Unban a user',
    description: 'Sessions and API keys work again as before.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => administration.unban(actor, params.user_id),
  })

  api.delete('/users/:user_id', 'deleteUser', {
    // Older versions did not limit the number of keys, so a user may own very many.
    config: { access: 'admin', acceptedKeys: 'full', writes: true, deadlineMs: 25_000 },
    summary: 'Delete a user',
    description: 'Deletes the account and its API keys permanently. The last admin cannot be deleted.',
    params: UserPath,
    response: { 204: Empty, refuses: ['last_admin', 'user_not_found'] },
    handle: ({ actor, params }) => administration.remove(actor, params.user_id),
  })
}
