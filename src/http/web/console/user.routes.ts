import type { Audit } from '../../../domain/audit/audit.service.ts'
import { type ApiKeys, MAX_KEYS } from '../../../domain/keys/keys.service.ts'
import { MAX_LISTED_SESSIONS, type Sessions } from '../../../domain/sessions/sessions.service.ts'
import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { UserDirectory } from '../../../domain/users/user-directory.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { App } from '../../pipeline/app-type.ts'
import type { PasswordQuestion } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { laterPage, pageFrom, pageNumber, pageOf, pagingOf, queryText } from '../site/elements/paging.ts'
import type { Notice } from '../site/notices.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import { userPage } from './user.pages.ts'

export type ConsoleUserParts = PageParts & {
  readonly userDirectory: UserDirectory
  readonly userAdministration: UserAdministration
  readonly sessions: Sessions
  readonly apiKeys: ApiKeys
  readonly audit: Audit
}

const User = { user_id: Type.Integer() }
const Session = { ...User, session_id: Type.String() }
const Key = { ...User, key_id: Type.String({ format: 'uuid' }) }
const SESSIONS = pagingOf({ size: 10, maxItems: MAX_LISTED_SESSIONS })
const KEYS = pagingOf({ size: 10, maxItems: MAX_KEYS })
/** The pages of the two lists that are shown. */
const Query = { sessions: pageNumber(SESSIONS), keys: pageNumber(KEYS) }
const MAX_EVENTS_SHOWN = 10

type Question = PasswordQuestion<{ readonly params: { readonly user_id: number } }>
type Action = {
  readonly change: (actor: Actor, userId: number) => Promise<unknown>
  readonly notice: Notice
  readonly asksForPassword: Question | false
}

/** One account, and everything that an admin may do with it. */
export function consoleUserRoutes(app: App, parts: ConsoleUserParts): void {
  const { site, userDirectory, userAdministration, sessions, apiKeys, audit } = parts
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/users/:user_id', { params: User, query: Query }, async ({ params, query, actor }) => {
    const user = await userDirectory.find(params.user_id)
    const [live, keys, events] = await Promise.all([
      sessions.list(user.id),
      apiKeys.list(actor, user.id).then((all) => pageFrom(all, query.keys, KEYS)),
      audit.list({ target: user.id, size: MAX_EVENTS_SHOWN }),
    ])
    return userPage(site, actor.caller, { user, sessions: pageOf(live, query.sessions, SESSIONS), keys, events: events.items })
  })

  /** A button that changes the account and leads back to its page. */
  function action(name: string, { change, notice, asksForPassword }: Action): void {
    post(`/users/:user_id/${name}`, { asksForPassword, params: User }, async ({ params, actor }) => {
      await change(actor, params.user_id)
      return { to: `/console/users/${params.user_id}`, notice }
    })
  }
  const { verify, ban, unban, makeAdmin, sendPasswordReset } = userAdministration
  // An account of an admin that works again is one admin more.
  const when: Question['when'] = async ({ params }) => (await userAdministration.find(params.user_id)).role === 'admin'
  action('verify', { change: verify, notice: 'user-verified', asksForPassword: { to: 'verify this admin', when } })
  action('ban', { change: ban, notice: 'user-banned', asksForPassword: false })
  action('unban', { change: unban, notice: 'user-unbanned', asksForPassword: { to: 'unban this admin', when } })
  action('make-admin', { change: makeAdmin, notice: 'user-promoted', asksForPassword: { to: 'make this user an admin' } })
  action('send-reset', { change: sendPasswordReset, notice: 'reset-sent', asksForPassword: false })

  post('/users/:user_id/delete', { asksForPassword: { to: 'delete this user' }, params: User }, async ({ params, actor }) => {
    await userAdministration.remove(actor, params.user_id)
    return { to: '/console/users', notice: 'user-deleted' }
  })

  post(
    '/users/:user_id/sessions/:session_id/revoke',
    { asksForPassword: false, params: Session, query: Query },
    async ({ params, query, actor }) => {
      await sessions.revoke(actor, params.user_id, params.session_id)
      return { to: userPath(params.user_id, query), notice: 'session-revoked' }
    },
  )

  post('/users/:user_id/keys/:key_id/disable', { asksForPassword: false, params: Key, query: Query }, async ({ params, query, actor }) => {
    await apiKeys.edit(actor, params.user_id, params.key_id, { isActive: false })
    return { to: userPath(params.user_id, query), notice: 'key-disabled' }
  })

  post('/users/:user_id/keys/:key_id/revoke', { asksForPassword: false, params: Key, query: Query }, async ({ params, query, actor }) => {
    await apiKeys.remove(actor, params.user_id, params.key_id)
    return { to: userPath(params.user_id, query), notice: 'key-revoked' }
  })
}

/** The page of a user, with the pages of its lists that were shown. */
function userPath(
  userId: number,
  { sessions, keys }: { readonly sessions?: number | undefined; readonly keys?: number | undefined },
): string {
  return `/console/users/${userId}${queryText({ sessions: laterPage(sessions), keys: laterPage(keys) })}`
}
