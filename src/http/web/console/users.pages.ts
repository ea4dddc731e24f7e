import type { ListedUser, User, UserPage, UserPlace, UserSort, UserStatus } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { ageOf, dateOf, shortText } from '../site/elements/format.ts'
import { nextLink, previousLink, queryText, stepsFooter } from '../site/elements/paging.ts'
import { badge, emptyState, mainCell, NEVER, tableCard, tabs } from '../site/elements/tables.ts'
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

export function usersPage({ root, now }: Site, query: UsersQuery, { users, previous, next, stopped }: UserPage): Page {
  const list = (place: UserPlace) => `${root}/console/users${textOf(query, place)}`
  const content = html`<form class="filters" role="search" action="${root}/console/users">
<div class="field wide"><label for="q">Search</label><input id="q" name="q" type="search" value="${query.q}" placeholder="Name or email" autocomplete="off"></div>
<div class="field"><label for="sort">Sort by</label><select id="sort" name="sort">${SORT_NAMES.map((name) => option(name, SORTS[name], query.sort))}</select></div>
${query.status && html`<input type="hidden" name="status" value="${query.status}">`}
<button>Search</button>
</form>
${stopped && stopNotice(stopped)}${tableCard({
  title: 'List of users',
  hidesTitle: true,
  heads: ['User', 'Status', 'Created', 'Signed in'],
  rows: users.map((user) => userRow(root, user, now())),
  empty: stopped ? nobodyYet(query, stopped) : noUsers(query, `${root}/console/users`),
  header: statusTabs(root, query),
  footer: stepsFooter({ back: previous && previousLink(list(previous)), on: next && nextLink(list(next)) }),
})}`
  const actions = html`<a class="button primary" href="${root}/console/users/new">New user</a>`
  return { title: 'Users', content, actions }
}

function userRow(root: string, user: ListedUser, now: number): readonly Html[] {
  const { id, email, firstName, lastName, createdAt, lastLoginAt } = user
  return [
    mainCell(shortText(email, 100), shortText(`${firstName} ${lastName}`, 100), `${root}/console/users/${id}`),
    badgesOf(user),
    dateOf(createdAt),
    lastLoginAt === undefined ? NEVER : ageOf(lastLoginAt, now),
  ]
}

/** The status of an account, in words and in colour. */
export function badgesOf({ role, banned, verified }: User): Html {
  const status = banned ? badge('bad', 'Banned') : verified ? badge('good', 'Active') : badge('warn', 'Unverified')
  return html`${status}${role === 'admin' ? html` ${badge('', 'Admin')}` : ''}`
}

function statusTabs(root: string, query: UsersQuery): Html {
  const entries = [undefined, ...STATUS_NAMES].map((status) => ({
    to: `${root}/console/users${textOf({ ...query, status })}`,
    text: status === undefined ? 'All' : STATUSES[status],
    isShown: query.status === status,
  }))
  return tabs('Status', entries)
}

function noUsers({ q, status }: UsersQuery, all: string): Html {
  if (q === '' && status === undefined) return emptyState('No users yet', 'Accounts appear here when people register.')
  return emptyState(
    'No matching users',
    q === '' ? 'Nobody has this status.' : `Nobody matches “${q}”.`,
    html`<p><a href="${all}">Show all users</a></p>`,
  )
}

type Stopped = NonNullable<UserPage['stopped']>

/** Says that the page is not the whole answer, and what would be. */
function stopNotice({ after, isShortTerm }: Stopped): Html {
  const searched = `Searched ${after.toLocaleString('en')} users of this list, not all of them.`
  const advice = isShortTerm
    ? 'Enter three characters or more to search all users, or continue page by page.'
    : 'Many users match. Enter more characters to search all users, or continue page by page.'
  return html`<p class="notice warn" role="status">${searched} ${advice}</p>\n`
}

function nobodyYet({ q }: UsersQuery, { after }: Stopped): Html {
  return emptyState('No matching users here', `Nobody among these ${after.toLocaleString('en')} users matches “${q}”.`)
}

function option(value: string, text: string, chosen: string): Html {
  return html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`
}

/** The query of a list, without what is at its default. */
function textOf({ q, status, sort }: UsersQuery, place?: UserPlace): string {
  return queryText({
    q,
    status,
    sort: sort === 'newest' ? undefined : sort,
    ...(place && { [place.direction]: Buffer.from(JSON.stringify([place.key, place.id])).toString('base64url') }),
  })
}
