import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import type { UserDirectory } from '../../../domain/users/user-directory.service.ts'
import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { SEARCH_TERM_MAX_LENGTH } from '../../../domain/values/search.ts'
import { isCleanText } from '../../../domain/values/text.ts'
import type { ListedUser, User, UserPage, UserPlace, UserSort, UserStatus } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email, FirstName, LastName, NewPassword, Type } from '../../validation/schema.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from '../site/elements/fields.ts'
import { ageOf, dateOf, shortText } from '../site/elements/format.ts'
import { nextLink, previousLink, queryText, stepsFooter } from '../site/elements/paging.ts'
import { badge, emptyState, mainCell, NEVER, tableCard, tabs } from '../site/elements/tables.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

type UsersQuery = { readonly q: string; readonly status: UserStatus | undefined; readonly sort: UserSort }

const STATUSES: Readonly<Record<UserStatus, string>> = { active: 'Active', unverified: 'Unverified', banned: 'Banned', admin: 'Admins' }
const SORTS: Readonly<Record<UserSort, string>> = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  email: 'Email',
  'signed-in': 'Last signed in',
}
// The keys of these objects.
const STATUS_NAMES = Object.keys(STATUSES) as UserStatus[]
const SORT_NAMES = Object.keys(SORTS) as UserSort[]

function usersPage({ root, now }: Site, query: UsersQuery, { users, previous, next, stopped }: UserPage): Page {
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

export type ConsoleUsersParts = PageParts & { readonly userDirectory: UserDirectory }

const PAGE_SIZE = 50
const Place = Type.Optional(Type.String({ maxLength: 1000 }))
const Query = {
  q: Type.Optional(Type.String({ trimmed: true, maxLength: SEARCH_TERM_MAX_LENGTH, default: '' })),
  // A field that is chosen in the form for "all" arrives empty.
  status: Type.Optional(Type.Enum(['', ...STATUS_NAMES], { default: '' })),
  sort: Type.Optional(Type.Enum(SORT_NAMES, { default: 'newest' })),
  after: Place,
  before: Place,
}

/** The list of all accounts. */
export function consoleUsersRoutes(app: App, parts: ConsoleUsersParts): void {
  const { get } = createPageRoutes(app, parts, 'console')

  get('/users', { query: Query }, async ({ query }) => {
    const { q = '', status = '', sort = 'newest', after, before } = query
    const shown: UsersQuery = { q, status: status === '' ? undefined : status, sort }
    const place = placeOf(sort, 'after', after) ?? placeOf(sort, 'before', before)
    const page = await parts.userDirectory.page({ term: q, status: shown.status, sort, place, size: PAGE_SIZE })
    return usersPage(parts.site, shown, page)
  })
}

/** A place that cannot be read, or that belongs to another order, is the beginning. */
function placeOf(sort: UserSort, direction: UserPlace['direction'], text: string | undefined): UserPlace | undefined {
  try {
    const [key, id] = JSON.parse(Buffer.from(text ?? '', 'base64url').toString()) as unknown[]
    if (!Number.isSafeInteger(id)) return undefined
    const isKey = sort === 'email' ? typeof key === 'string' && isCleanText(key) : Number.isSafeInteger(key)
    // Both were checked.
    return isKey ? { direction, key: key as string | number, id: id as number } : undefined
  } catch {
    return undefined
  }
}

export type NewUserParts = PageParts & { readonly registration: Registration }

const LABELS = { email: 'Email', first_name: 'First name', last_name: 'Last name', password: 'Password' }

/** A new account, which is verified at once. */
export function consoleNewUserRoutes(app: App, parts: NewUserParts): void {
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/users/new', {}, () => form(NO_PROBLEMS, {}))

  post(
    '/users/new',
    {
      asksForPassword: false,
      body: { email: Email, first_name: FirstName, last_name: LastName, password: NewPassword },
      labels: LABELS,
      retry: form,
    },
    async ({ body, actor }) => {
      const { email, first_name: firstName, last_name: lastName, password } = body
      const id = await parts.registration.create(actor, { email, firstName, lastName, password }, 'user')
      return { to: `/console/users/${id}`, notice: 'user-created' }
    },
  )

  function form(problems: Problems, values: Readonly<Record<string, string>>): Page {
    const field = (name: keyof typeof LABELS) => ({ name, label: LABELS[name], value: values[name] })
    const content = html`<section class="card split" aria-labelledby="new"><header><h2 id="new">A verified account</h2>
<p class="quiet">The user can sign in at once. To let the user choose the password, create the account, then send a password reset.</p></header>
<form class="form" method="post" action="${parts.site.root}/console/users/new">
${formProblem(problems)}${inputField({ ...field('email'), type: 'email', hasFocus: true }, problems)}
<div class="pair">${inputField({ ...field('first_name'), maxLength: NAME_MAX_LENGTH }, problems)}
${inputField({ ...field('last_name'), maxLength: NAME_MAX_LENGTH }, problems)}</div>
${inputField({ ...field('password'), type: 'password', autocomplete: 'new-password', hint: 'At least 8 characters.' }, problems)}
<div class="actions"><button class="primary">Create user</button><a class="button" href="${parts.site.root}/console/users">Cancel</a></div>
</form></section>`
    return { title: 'New user', content, back: { path: '/console/users', text: 'Users' } }
  }
}
