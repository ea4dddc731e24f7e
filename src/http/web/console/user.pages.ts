import type { ApiKey } from '../../../model/api-key.ts'
import type { ListedSession } from '../../../model/session.ts'
import type { ListedUser, User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { actionForm } from '../site/fields.ts'
import { ageOf, dateOf, timeOf } from '../site/format.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { badge, badgesOf } from './users.pages.ts'

export type UserDetails = {
  readonly user: ListedUser
  readonly sessions: readonly ListedSession[]
  readonly keys: readonly ApiKey[]
  /** Whether the account has more keys than are shown. */
  readonly hasMoreKeys: boolean
}

/** The admin who looks at the page, and their session. */
export type Viewer = { readonly user: User; readonly sessionId: string | undefined }

export function userPage(site: Site, viewer: Viewer, { user, sessions, keys, hasMoreKeys }: UserDetails): Page {
  const base = `${site.root}/console/users/${user.id}`
  const now = site.now()
  const content = html`<div class="columns">
${profile(user, now)}
${danger(base, user)}
</div>
${sessionsCard(base, sessions, viewer.sessionId, now)}
${keysCard(base, keys, hasMoreKeys, now)}`
  return { title: user.email, content, actions: actionsFor(base, user, viewer), back: { path: '/console/users', text: 'Users' } }
}

function actionsFor(base: string, user: User, viewer: Viewer): Html {
  const ban = user.banned ? actionForm(`${base}/unban`, 'Unban') : actionForm(`${base}/ban`, 'Ban', 'danger')
  return html`${user.verified ? '' : actionForm(`${base}/verify`, 'Verify')}
${user.role === 'admin' ? '' : actionForm(`${base}/make-admin`, 'Make admin')}
${actionForm(`${base}/send-reset`, 'Send password reset')}
${user.id === viewer.user.id ? '' : ban}`
}

function profile(user: ListedUser, now: number): Html {
  const { id, email, firstName, lastName, createdAt, lastLoginAt } = user
  return html`<section class="card" aria-labelledby="profile"><h2 id="profile">Profile</h2>
<dl class="facts">
<dt>Name</dt><dd>${firstName} ${lastName}</dd>
<dt>Email</dt><dd>${email}</dd>
<dt>Status</dt><dd>${badgesOf(user)}</dd>
<dt>User ID</dt><dd class="mono">${id}</dd>
<dt>Created</dt><dd>${timeOf(createdAt)}</dd>
<dt>Signed in</dt><dd>${lastLoginAt === undefined ? 'never' : ageOf(lastLoginAt, now)}</dd>
</dl></section>`
}

function danger(base: string, { email }: User): Html {
  return html`<section class="card" aria-labelledby="deletion"><h2 id="deletion">Delete this account</h2>
<p class="quiet">The account is deleted with its sessions and API keys. Its address can be registered again. This cannot be undone.</p>
<details class="confirm"><summary>Delete…</summary>
<form method="post" action="${base}/delete"><p>Delete <strong>${email}</strong> for good?</p><button class="danger">Delete</button></form>
</details></section>`
}

function sessionsCard(base: string, sessions: readonly ListedSession[], own: string | undefined, now: number): Html {
  const rows = sessions.map(
    ({ id, ip, userAgent, createdAt, lastSeenAt }) =>
      html`<tr><td><span class="main">${userAgent ?? 'Unknown client'}</span><span class="quiet">${ip ?? ''}</span></td><td class="nowrap">${ageOf(createdAt, now)}</td><td class="nowrap">${ageOf(lastSeenAt, now)}</td><td><div class="actions">${id === own ? badge('', 'This session') : ''}${actionForm(`${base}/sessions/${id}/revoke`, 'Revoke', 'small')}</div></td></tr>`,
  )
  const heads = ['Client', 'Signed in', 'Last seen']
  return listCard(
    'Sessions',
    heads,
    rows,
    html`<div class="empty"><strong>No sessions</strong><p>This user is not signed in anywhere.</p></div>`,
  )
}

function keysCard(base: string, keys: readonly ApiKey[], hasMore: boolean, now: number): Html {
  const rows = keys.map((key) => {
    const { id, name, prefix, access, createdAt, expiresAt, lastUsedAt, isActive } = key
    const disable = isActive ? actionForm(`${base}/keys/${id}/disable`, 'Disable', 'small') : ''
    return html`<tr><td><span class="main">${name}</span><span class="quiet mono">${prefix === undefined ? id.slice(0, 8) : `${prefix}…`}</span></td><td>${keyBadge(key, now)}</td><td>${access}</td><td class="nowrap">${dateOf(createdAt)}</td><td class="nowrap">${expiresAt === undefined ? html`<span class="quiet">never</span>` : dateOf(expiresAt)}</td><td class="nowrap">${lastUsedAt === undefined ? html`<span class="quiet">never</span>` : ageOf(lastUsedAt, now)}</td><td><div class="actions">${disable}${actionForm(`${base}/keys/${id}/revoke`, 'Revoke', 'small danger')}</div></td></tr>`
  })
  const heads = ['API key', 'Status', 'Access', 'Created', 'Expires', 'Last used']
  const empty = html`<div class="empty"><strong>No API keys</strong><p>This user has not created any.</p></div>`
  const more = hasMore ? html`<footer class="hint">The first ${keys.length} keys. The command line lists all of them.</footer>` : undefined
  return listCard('API keys', heads, rows, empty, more)
}

/** Whether a key works now. */
export function keyBadge({ isActive, expiresAt }: Pick<ApiKey, 'isActive' | 'expiresAt'>, now: number): Html {
  if (!isActive) return badge('bad', 'Disabled')
  return expiresAt !== undefined && expiresAt <= now ? badge('warn', 'Expired') : badge('good', 'Active')
}

/** A table in a card. Its last column has the actions. */
export function listCard(title: string, heads: readonly string[], rows: readonly Html[], empty: Html, footer?: Html): Html {
  const id = title.toLowerCase().replaceAll(' ', '-')
  const table = html`<div class="scroll" tabindex="0" role="group" aria-labelledby="${id}"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}<th scope="col"><span class="hidden">Actions</span></th></tr></thead>
<tbody>
${rows}
</tbody></table></div>`
  return html`<section class="card flush" aria-labelledby="${id}"><header><h2 id="${id}">${title}</h2></header>
${rows.length === 0 ? empty : table}${footer}
</section>`
}
