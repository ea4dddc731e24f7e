import type { Audit } from '../../../domain/audit/audit.service.ts'
import { type ApiKeys, MAX_KEYS } from '../../../domain/keys/keys.service.ts'
import { MAX_LISTED_SESSIONS, type Sessions } from '../../../domain/sessions/sessions.service.ts'
import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { UserDirectory } from '../../../domain/users/user-directory.service.ts'
import type { ApiKey } from '../../../model/api-key.ts'
import type { Actor } from '../../../model/caller.ts'
import type { StoredEvent } from '../../../model/event.ts'
import type { ListedSession } from '../../../model/session.ts'
import type { ListedUser, User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App, PasswordQuestion } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, clientOf, shortText, timeOf } from '../site/elements/format.ts'
import { keyBadge, keyPrefix, keyTimes } from '../site/elements/keys.ts'
import {
  type ListPage,
  laterPage,
  pageFrom,
  pageNumber,
  pageOf,
  pagesFooter,
  pagingOf,
  queryText,
  stepsFooter,
} from '../site/elements/paging.ts'
import { badge, emptyState, fact, mainCell, NEVER, tableCard } from '../site/elements/tables.ts'
import type { Notice } from '../site/messages.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { eventsCard } from './audit.routes.ts'
import { badgesOf } from './users.routes.ts'

export type ConsoleUserParts = PageParts & {
  readonly userDirectory: UserDirectory
  readonly userAdministration: UserAdministration
  readonly sessions: Sessions
  readonly apiKeys: ApiKeys
  readonly audit: Audit
}

const UserPath = { user_id: Type.Integer() }
const SessionPath = { ...UserPath, session_id: Type.String() }
const KeyPath = { ...UserPath, key_id: Type.String({ format: 'uuid' }) }
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

  get('/users/:user_id', { params: UserPath, query: Query }, async ({ params, query, actor }) => {
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
    post(`/users/:user_id/${name}`, { asksForPassword, params: UserPath }, async ({ params, actor }) => {
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

  post('/users/:user_id/delete', { asksForPassword: { to: 'delete this user' }, params: UserPath }, async ({ params, actor }) => {
    await userAdministration.remove(actor, params.user_id)
    return { to: '/console/users', notice: 'user-deleted' }
  })

  post(
    '/users/:user_id/sessions/:session_id/revoke',
    { asksForPassword: false, params: SessionPath, query: Query },
    async ({ params, query, actor }) => {
      await sessions.revoke(actor, params.user_id, params.session_id)
      return { to: userPath(params.user_id, query), notice: 'session-revoked' }
    },
  )

  post(
    '/users/:user_id/keys/:key_id/disable',
    { asksForPassword: false, params: KeyPath, query: Query },
    async ({ params, query, actor }) => {
      await apiKeys.edit(actor, params.user_id, params.key_id, { isActive: false })
      return { to: userPath(params.user_id, query), notice: 'key-disabled' }
    },
  )

  post(
    '/users/:user_id/keys/:key_id/revoke',
    { asksForPassword: false, params: KeyPath, query: Query },
    async ({ params, query, actor }) => {
      await apiKeys.remove(actor, params.user_id, params.key_id)
      return { to: userPath(params.user_id, query), notice: 'key-revoked' }
    },
  )
}

/** The page of a user, with the pages of its lists that were shown. */
function userPath(
  userId: number,
  { sessions, keys }: { readonly sessions?: number | undefined; readonly keys?: number | undefined },
): string {
  return `/console/users/${userId}${queryText({ sessions: laterPage(sessions), keys: laterPage(keys) })}`
}

type UserDetails = {
  readonly user: ListedUser
  readonly sessions: ListPage<ListedSession>
  readonly keys: ListPage<ApiKey>
  /** The latest events about the account. */
  readonly events: readonly StoredEvent[]
}

/** The admin who looks at the page, and their session. */
type Viewer = { readonly user: User; readonly sessionId: string | undefined }

function userPage(site: Site, viewer: Viewer, { user, sessions, keys, events }: UserDetails): Page {
  const base = `${site.root}/console/users/${user.id}`
  const now = site.now()
  const allEvents = html`<a href="${site.root}/console/audit?target=${user.id}">All events about this user</a>`
  const content = html`${profile(user, now)}
${sessionsCard({ base, sessions, keys, now }, viewer.sessionId)}
${keysCard({ base, sessions, keys, now })}
${eventsCard(site.root, events, { footer: stepsFooter({ on: allEvents }) })}
${danger(base, user)}`
  return {
    title: user.email,
    content,
    badges: badgesOf(user),
    actions: actionsFor(base, user, viewer),
    back: { path: '/console/users', text: 'Users' },
  }
}

function actionsFor(base: string, user: User, viewer: Viewer): Html {
  const ban = user.banned ? actionForm(`${base}/unban`, 'Unban') : actionForm(`${base}/ban`, 'Ban', 'danger')
  return html`${user.verified ? '' : actionForm(`${base}/verify`, 'Verify')}
${user.role === 'admin' ? '' : actionForm(`${base}/make-admin`, 'Make admin')}
${actionForm(`${base}/send-reset`, 'Send password reset')}
${user.id === viewer.user.id ? '' : ban}`
}

function profile(user: ListedUser, now: number): Html {
  const { id, firstName, lastName, createdAt, lastLoginAt } = user
  return html`<section class="card" aria-label="Profile"><dl class="strip">
${fact('Name', `${firstName} ${lastName}`)}
${fact('User ID', html`<span class="mono">${id}</span>`)}
${fact('Created', timeOf(createdAt))}
${fact('Signed in', lastLoginAt === undefined ? NEVER : ageOf(lastLoginAt, now))}
</dl></section>`
}

function danger(base: string, { email }: User): Html {
  return html`<section class="card split" aria-labelledby="deletion"><header><h2 id="deletion">Delete this account</h2>
<p class="quiet">The account is deleted with its sessions and API keys. Its address can be registered again. This cannot be undone.</p></header>
<details class="confirm"><summary>Delete…</summary>
<form method="post" action="${base}/delete"><p>Delete <strong>${email}</strong> for good?</p><button class="danger">Delete</button></form>
</details></section>`
}

type Lists = Pick<UserDetails, 'sessions' | 'keys'> & { readonly base: string; readonly now: number }

/** The pages of both lists that are shown, as the query of an address: their buttons lead back to them. */
function placeIn({ sessions, keys }: Lists): string {
  return queryText({ sessions: laterPage(sessions.page), keys: laterPage(keys.page) })
}

function sessionsCard(lists: Lists, own: string | undefined): Html {
  const { base, sessions, keys, now } = lists
  const place = placeIn(lists)
  const rows = sessions.items.map(({ id, ip, userAgent, createdAt, lastSeenAt }) => [
    mainCell(clientOf(userAgent), ip ?? ''),
    ageOf(createdAt, now),
    ageOf(lastSeenAt, now),
    html`<div class="actions">${id === own ? badge('', 'This session') : ''}${actionForm(`${base}/sessions/${id}/revoke${place}`, 'Revoke', 'small')}</div>`,
  ])
  const empty = emptyState('No sessions', 'This user is not signed in anywhere.')
  return tableCard({
    title: 'Sessions',
    heads: ['Client', 'Signed in', 'Last seen'],
    rows,
    hasActions: true,
    empty,
    footer: pagesFooter(sessions, (page) => `${base}${queryText({ sessions: page, keys: keys.page })}#sessions`),
  })
}

function keysCard(lists: Lists): Html {
  const { base, sessions, keys, now } = lists
  const place = placeIn(lists)
  const rows = keys.items.map((key) => {
    const { id, name, access, isActive } = key
    const disable = isActive ? actionForm(`${base}/keys/${id}/disable${place}`, 'Disable', 'small') : ''
    return [
      mainCell(shortText(name), keyPrefix(key)),
      keyBadge(key, now),
      access,
      ...keyTimes(key, now),
      html`<div class="actions">${disable}${actionForm(`${base}/keys/${id}/revoke${place}`, 'Revoke', 'small danger')}</div>`,
    ]
  })
  return tableCard({
    title: 'API keys',
    heads: ['API key', 'Status', 'Access', 'Created', 'Expires', 'Last used'],
    rows,
    hasActions: true,
    empty: emptyState('No API keys', 'This user has not created any.'),
    footer: pagesFooter(keys, (page) => `${base}${queryText({ sessions: sessions.page, keys: page })}#api-keys`),
  })
}
