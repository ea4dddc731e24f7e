import type { UserAdministration } from '../../../domain/accounts/user-administration.service.ts'
import type { UserDirectory } from '../../../domain/accounts/user-directory.service.ts'
import type { Audit } from '../../../domain/audit/audit.service.ts'
import { type ApiKeys, MAX_KEYS } from '../../../domain/sessions/api-keys.service.ts'
import type { UserSessions } from '../../../domain/sessions/user-sessions.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { pageFrom, pageOf } from '../site/elements/tables.ts'
import type { Notice } from '../site/notices.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import { userPage } from './user.pages.ts'

export type ConsoleUserParts = PageParts & {
  readonly userDirectory: UserDirectory
  readonly userAdministration: UserAdministration
  readonly userSessions: UserSessions
  readonly apiKeys: ApiKeys
  readonly audit: Audit
}

const User = { user_id: Type.Integer() }
const Session = { ...User, session_id: Type.String() }
const Key = { ...User, key_id: Type.String({ format: 'uuid' }) }
const ROWS_SHOWN = 10
const Place = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_KEYS / ROWS_SHOWN }))
const Query = { sessions: Place, keys: Place }
const MAX_EVENTS_SHOWN = 10

/** One account, and everything that an admin may do with it. */
export function consoleUserRoutes(app: App, parts: ConsoleUserParts): void {
  const { site, userDirectory, userAdministration, userSessions, apiKeys, audit } = parts
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/users/:user_id', { params: User, query: Query }, async ({ params, query, actor }) => {
    const user = await userDirectory.find(params.user_id)
    const [sessions, keys, events] = await Promise.all([
      userSessions.list(user.id),
      apiKeys.list(actor, user.id).then((all) => pageFrom(all, query.keys ?? 1, ROWS_SHOWN)),
      audit.list({ target: user.id, size: MAX_EVENTS_SHOWN }),
    ])
    return userPage(site, actor.caller, { user, sessions: pageOf(sessions, query.sessions ?? 1, ROWS_SHOWN), keys, events: events.items })
  })

  /** A button that changes the account and leads back to its page. */
  function action(name: string, notice: Notice, recentPassword: boolean, change: (actor: Actor, userId: number) => Promise<unknown>): void {
    post(`/users/:user_id/${name}`, { params: User, recentPassword }, async ({ params, actor }) => {
      await change(actor, params.user_id)
      return { to: `/console/users/${params.user_id}`, notice }
    })
  }
  action('verify', 'user-verified', false, userAdministration.verify)
  action('ban', 'user-banned', false, userAdministration.ban)
  action('unban', 'user-unbanned', false, userAdministration.unban)
  action('make-admin', 'user-promoted', true, userAdministration.makeAdmin)
  action('send-reset', 'reset-sent', false, userAdministration.sendPasswordReset)

  post('/users/:user_id/delete', { params: User, recentPassword: true }, async ({ params, actor }) => {
    await userAdministration.remove(actor, params.user_id)
    return { to: '/console/users', notice: 'user-deleted' }
  })

  post('/users/:user_id/sessions/:session_id/revoke', { params: Session }, async ({ params, actor }) => {
    await userSessions.revoke(actor, params.user_id, params.session_id)
    return { to: `/console/users/${params.user_id}`, notice: 'session-revoked' }
  })

  post('/users/:user_id/keys/:key_id/disable', { params: Key }, async ({ params, actor }) => {
    await apiKeys.edit(actor, params.user_id, params.key_id, { isActive: false })
    return { to: `/console/users/${params.user_id}`, notice: 'key-disabled' }
  })

  post('/users/:user_id/keys/:key_id/revoke', { params: Key }, async ({ params, actor }) => {
    await apiKeys.remove(actor, params.user_id, params.key_id)
    return { to: `/console/users/${params.user_id}`, notice: 'key-revoked' }
  })
}
