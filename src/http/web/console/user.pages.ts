import type { ApiKey } from '../../../model/api-key.ts'
import type { StoredEvent } from '../../../model/event.ts'
import type { ListedSession } from '../../../model/session.ts'
import type { ListedUser, User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, clientOf, dateOf, shortText, timeOf } from '../site/elements/format.ts'
import { type ListPage, laterPage, pagesFooter, queryText, stepsFooter } from '../site/elements/paging.ts'
import { badge, emptyState, fact, mainCell, NEVER, tableCard } from '../site/elements/tables.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { eventsCard } from './audit.pages.ts'
import { badgesOf } from './users.pages.ts'

export type UserDetails = {
  readonly user: ListedUser
  readonly sessions: ListPage<ListedSession>
  readonly keys: ListPage<ApiKey>
  /** The latest events about the account. */
  readonly events: readonly StoredEvent[]
}

/** The admin who looks at the page, and their session. */
export type Viewer = { readonly user: User; readonly sessionId: string | undefined }

export function userPage(site: Site, viewer: Viewer, { user, sessions, keys, events }: UserDetails): Page {
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
    const { id, name, prefix, access, createdAt, expiresAt, lastUsedAt, isActive } = key
    const disable = isActive ? actionForm(`${base}/keys/${id}/disable${place}`, 'Disable', 'small') : ''
    return [
      mainCell(shortText(name), html`<span class="mono">${prefix === undefined ? id.slice(0, 8) : `${prefix}…`}</span>`),
      keyBadge(key, now),
      access,
      dateOf(createdAt),
      expiresAt === undefined ? NEVER : dateOf(expiresAt),
      lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now),
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

/** Whether a key works now. */
export function keyBadge({ isActive, expiresAt }: Pick<ApiKey, 'isActive' | 'expiresAt'>, now: number): Html {
  if (!isActive) return badge('bad', 'Disabled')
  return expiresAt !== undefined && expiresAt <= now ? badge('warn', 'Expired') : badge('good', 'Active')
}
