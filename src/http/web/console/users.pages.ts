import type { ListedUser, User, UserPage, UserPlace, UserSort, UserStatus } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { ageOf, dateOf } from '../site/format.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

export type UsersQuery = { readonly q: string; readonly status: UserStatus | undefined; readonly sort: UserSort }

const STATUSES: Readonly<Record<UserStatus, string>> = { active: 'Active', unverified: 'Unverified', banned: 'Banned', admin: 'Admins' }
const SORTS: Readonly<Record<UserSort, string>> = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  email: 'Email',
  'signed-in': 'Last signed in',
}
// The keys of these objects.
export const STATUS_NAMES = Object.keys(STATUSES) as UserStatus[]
export const SORT_NAMES = Object.keys(SORTS) as UserSort[]

export function usersPage({ root, now }: Site, query: UsersQuery, { users, previous, next }: UserPage): Page {
  const list = (place?: UserPlace) => `${root}/console/users${textOf(query, place)}`
  const rows = users.map((user) => userRow(root, user, now()))
  const content = html`<form class="filters" role="search" action="${root}/console/users">
<div class="field wide"><label for="q">Search</label><input id="q" name="q" type="search" value="${query.q}" placeholder="Name or email" autocomplete="off"></div>
<div class="field"><label for="sort">Sort by</label><select id="sort" name="sort">${SORT_NAMES.map((name) => option(name, SORTS[name], query.sort))}</select></div>
${query.status && html`<input type="hidden" name="status" value="${query.status}">`}
<button>Search</button>
</form>
<section class="card flush" aria-label="Users">
<header><nav aria-label="Status"><ul class="tabs">
${[undefined, ...STATUS_NAMES].map((status) => statusTab(root, query, status))}
</ul></nav></header>
${rows.length === 0 ? noUsers(query, list()) : table(rows)}
${(previous ?? next) && html`<footer class="pages">${pageLink(previous && list(previous), '← Previous', 'prev')}${pageLink(next && list(next), 'Next →', 'next')}</footer>`}
</section>`
  return { title: 'Users', content }
}

function table(rows: readonly Html[]): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="List of users">
<table>
<thead><tr><th scope="col">User</th><th scope="col">Status</th><th scope="col">Created</th><th scope="col">Signed in</th></tr></thead>
<tbody>
${rows}
</tbody>
</table>
</div>`
}

function userRow(root: string, user: ListedUser, now: number): Html {
  const { id, email, firstName, lastName, createdAt, lastLoginAt } = user
  return html`<tr><td><a class="main" href="${root}/console/users/${id}">${email}</a><span class="quiet">${firstName} ${lastName}</span></td><td class="nowrap">${badgesOf(user)}</td><td class="nowrap">${dateOf(createdAt)}</td><td class="nowrap">${lastLoginAt === undefined ? html`<span class="quiet">never</span>` : ageOf(lastLoginAt, now)}</td></tr>`
}

/** The status of an account, in words and in colour. */
export function badgesOf({ role, banned, verified }: User): Html {
  const status = banned ? badge('bad', 'Banned') : verified ? badge('good', 'Active') : badge('warn', 'Unverified')
  return html`${status}${role === 'admin' ? html` ${badge('', 'Admin')}` : ''}`
}

export function badge(kind: '' | 'good' | 'bad' | 'warn', text: string): Html {
  return html`<span class="badge${kind === '' ? '' : ` ${kind}`}">${text}</span>`
}

function statusTab(root: string, query: UsersQuery, status: UserStatus | undefined): Html {
  const to = `${root}/console/users${textOf({ ...query, status })}`
  return html`<li><a href="${to}"${query.status === status ? html` aria-current="page"` : ''}>${status === undefined ? 'All' : STATUSES[status]}</a></li>`
}

function noUsers({ q, status }: UsersQuery, all: string): Html {
  if (q === '' && status === undefined)
    return html`<div class="empty"><strong>No users yet</strong><p>Accounts appear here when people register.</p></div>`
  return html`<div class="empty"><strong>No matching users</strong><p>${q === '' ? 'Nobody has this status.' : html`Nobody matches “${q}”.`}</p><p><a href="${all.replace(/\?.*$/, '')}">Show all users</a></p></div>`
}

function pageLink(to: string | undefined, text: string, rel: 'prev' | 'next'): Html {
  return to === undefined ? html`<span></span>` : html`<a class="button small" rel="${rel}" href="${to}">${text}</a>`
}

function option(value: string, text: string, chosen: string): Html {
  return html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`
}

/** The query of a list, without what is at its default. */
function textOf({ q, status, sort }: UsersQuery, place?: UserPlace): string {
  const parameters = new URLSearchParams({
    ...(q !== '' && { q }),
    ...(status && { status }),
    ...(sort !== 'newest' && { sort }),
    ...(place && { [place.direction]: Buffer.from(JSON.stringify([place.key, place.id])).toString('base64url') }),
  }).toString()
  return parameters === '' ? '' : `?${parameters}`
}
