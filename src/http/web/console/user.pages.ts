import type { ApiKey } from '../../../model/api-key.ts'
import type { StoredEvent } from '../../../model/event.ts'
import type { ListedSession } from '../../../model/session.ts'
import type { ListedUser, User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, clientOf, dateOf, shortText, timeOf } from '../site/elements/format.ts'
import { badge, emptyState, fact, type ListPage, mainCell, NEVER, pagesFooter, tableCard } from '../site/elements/tables.ts'
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
  const content = html`${profile(user, now)}
${sessionsCard(base, sessions, viewer.sessionId, now, (page) => `${base}?sessions=${page}&keys=${keys.page}#sessions`)}
${keysCard(base, keys, now, (page) => `${base}?sessions=${sessions.page}&keys=${page}#api-keys`)}
${eventsCard(site.root, events, false, html`<footer class="pages"><span></span><a href="${site.root}/console/audit?target=${user.id}">All events about this user</a></footer>`)}
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

/** The address of a page of a list. */
type PageLink = (page: number) => string

function sessionsCard(base: string, list: ListPage<ListedSession>, own: string | undefined, now: number, to: PageLink): Html {
  const rows = list.items.map(({ id, ip, userAgent, createdAt, lastSeenAt }) => [
    mainCell(clientOf(userAgent), ip ?? ''),
    ageOf(createdAt, now),
    ageOf(lastSeenAt, now),
    html`<div class="actions">${id === own ? badge('', 'This session') : ''}${actionForm(`${base}/sessions/${id}/revoke`, 'Revoke', 'small')}</div>`,
  ])
  const empty = emptyState('No sessions', 'This user is not signed in anywhere.')
  return tableCard({
    title: 'Sessions',
    heads: ['Client', 'Signed in', 'Last seen'],
    rows,
    hasActions: true,
    empty,
    footer: pagesFooter(list, to),
  })
}

function keysCard(base: string, list: ListPage<ApiKey>, now: number, to: PageLink): Html {
  const rows = list.items.map((key) => {
    const { id, name, prefix, access, createdAt, expiresAt, lastUsedAt, isActive } = key
    const disable = isActive ? actionForm(`${base}/keys/${id}/disable`, 'Disable', 'small') : ''
    return [
      mainCell(shortText(name), html`<span class="mono">${prefix === undefined ? id.slice(0, 8) : `${prefix}…`}</span>`),
      keyBadge(key, now),
      access,
      dateOf(createdAt),
      expiresAt === undefined ? NEVER : dateOf(expiresAt),
      lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now),
      html`<div class="actions">${disable}${actionForm(`${base}/keys/${id}/revoke`, 'Revoke', 'small danger')}</div>`,
    ]
  })
  return tableCard({
    title: 'API keys',
    heads: ['API key', 'Status', 'Access', 'Created', 'Expires', 'Last used'],
    rows,
    hasActions: true,
    empty: emptyState('No API keys', 'This user has not created any.'),
    footer: pagesFooter(list, to),
  })
}

/** Whether a key works now. */
export function keyBadge({ isActive, expiresAt }: Pick<ApiKey, 'isActive' | 'expiresAt'>, now: number): Html {
  if (!isActive) return badge('bad', 'Disabled')
  return expiresAt !== undefined && expiresAt <= now ? badge('warn', 'Expired') : badge('good', 'Active')
}
