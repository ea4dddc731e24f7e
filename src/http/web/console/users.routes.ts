import { withoutSecrets } from '../../../domain/keys/keys.service.ts'
import type { CountedUsers } from '../../../domain/users/user-directory.service.ts'
import { SEARCH_TERM_MAX_LENGTH } from '../../../domain/values/search.ts'
import { isCleanText } from '../../../domain/values/text.ts'
import type { ListedUser, User, UserPage, UserPlace, UserSort, UserStatus } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { badge, emptyState, mainCell, type SortLink, splitCard, tableCard, tabs } from '../site/elements/cards.ts'
import { inputField } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { queryText, stepLink, stepsFooter } from '../site/elements/paging.ts'
import { NEW_ACCOUNT_FIELDS, namePair, PERSON_FIELDS, registrantOf } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { ageOf, dateOf, NEVER, numberOf } from './format.ts'

type UsersQuery = { readonly q: string; readonly status: UserStatus | undefined; readonly sort: UserSort }

export const STATUSES: readonly (readonly [UserStatus, string])[] = [
  ['active', 'Active'],
  ['unverified', 'Unverified'],
  ['banned', 'Banned'],
  ['admin', 'Admins'],
]
const SORTS: readonly (readonly [UserSort, string])[] = [
  ['newest', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['email', 'Email'],
  ['signed-in', 'Last signed in'],
]

function usersPage(site: Site, query: UsersQuery, { users, previous, next, stopped }: UserPage, counted: CountedUsers | undefined): Page {
  const { root, now } = site
  const list = (place: UserPlace) => `${root}/console/users${textOf(query, place)}`
  const content = html`<form class="filters" role="search" method="post" action="${root}/console/users">
<div class="field wide"><label for="q">Search</label><input id="q" name="q" type="search" value="${query.q}" placeholder="Names, email, user ID or key prefix" autocomplete="off"></div>
${inputField({ name: 'sort', label: 'Sort by', choices: SORTS, value: query.sort })}
${query.status && html`<input type="hidden" name="status" value="${query.status}">`}
<button>Search</button>
</form>
${stopped && stopNotice(stopped)}${tableCard({
  title: 'List of users',
  hidesTitle: true,
  heads: ['User', 'Status', 'Created', 'Signed in'],
  sorts: sortsOf(`${root}/console/users`, query),
  rows: users.map((user) => userRow(root, user, now())),
  empty: stopped ? nobodyYet(query, stopped) : noUsers(query, `${root}/console/users`),
  header: statusTabs(root, query, counted),
  footer: stepsFooter({ back: previous && stepLink(list(previous), '← Previous'), on: next && stepLink(list(next), 'Next →') }),
})}`
  const invite = site.isEnabled.account ? html`<a class="button" href="${root}/console/users/invite">Invite</a>` : undefined
  const actions = html`${invite}<a class="button primary" href="${root}/console/users/new">New user</a>`
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

/** Each column sorts the list; a second click on Created turns its order around. */
function sortsOf(list: string, query: UsersQuery): Readonly<Record<string, SortLink>> {
  const { sort: current } = query
  const link = (sort: UserSort, order: SortLink['order']) => ({ to: `${list}${textOf({ ...query, sort })}`, order })
  const created = current === 'newest' ? 'descending' : current === 'oldest' ? 'ascending' : undefined
  return {
    User: link('email', current === 'email' ? 'ascending' : undefined),
    Created: link(current === 'newest' ? 'oldest' : 'newest', created),
    'Signed in': link('signed-in', current === 'signed-in' ? 'descending' : undefined),
  }
}

/** The counts are those of all users, whatever is searched for. */
function statusTabs(root: string, query: UsersQuery, counted: CountedUsers | undefined): Html {
  const tab = (status: UserStatus | undefined, text: string) => ({
    to: `${root}/console/users${textOf({ ...query, status })}`,
    text: counted === undefined ? text : `${text} ${numberOf(counted.counts[status ?? 'all'])}`,
    isShown: query.status === status,
  })
  return tabs('Status', [tab(undefined, 'All'), ...STATUSES.map(([status, text]) => tab(status, text))])
}

function noUsers({ q, status }: UsersQuery, all: string): Html {
  if (q === '' && status === undefined) return emptyState('No users yet', 'Accounts appear here when people register.')
  return emptyState(
    'No matching users',
    q === '' ? 'Nobody has this status.' : status === undefined ? `Nobody matches “${q}”.` : `Nobody with this status matches “${q}”.`,
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

/** The query of a list, without what is at its default. */
function textOf({ q, status, sort }: UsersQuery, place?: UserPlace): string {
  return queryText({
    q,
    status,
    sort: sort === 'newest' ? undefined : sort,
    ...(place && { [place.direction]: Buffer.from(JSON.stringify([place.key, place.id])).toString('base64url') }),
  })
}

const PAGE_SIZE = 50
const Place = Type.Optional(Type.String({ maxLength: 1000 }))
const Filters = {
  q: Type.Optional(Type.String({ trimmed: true, maxLength: SEARCH_TERM_MAX_LENGTH, default: '' })),
  // A field that is chosen in the form for "all" arrives empty.
  status: Type.Optional(Type.Enum(['', ...STATUSES.map(([status]) => status)], { default: '' })),
  sort: Type.Optional(
    Type.Enum(
      SORTS.map(([sort]) => sort),
      { default: 'newest' },
    ),
  ),
}
const Query = { ...Filters, after: Place, before: Place }

const NEW_USER_FIELDS = { ...PERSON_FIELDS, password: { ...NEW_ACCOUNT_FIELDS.password, hint: 'At least 8 characters.' } }

/** The list of all accounts, and new ones. */
export function consoleUsersRoutes({ get, post, form }: PageRoutes, { site, userDirectory, registration }: PageParts): void {
  get('/users', {
    query: Query,
    async handle({ query }) {
      const { q = '', status = '', sort = 'newest', after, before } = query
      const shown: UsersQuery = { q, status: status === '' ? undefined : status, sort }
      const place = placeOf(sort, 'after', after) ?? placeOf(sort, 'before', before)
      const [page, counted] = await Promise.all([
        userDirectory.page({ term: q, status: shown.status, sort, place, size: PAGE_SIZE }),
        userDirectory.counts(),
      ])
      return usersPage(site, shown, page, counted)
    },
  })

  // By POST, so that a key that somebody pastes appears in no address, history or log.
  post('/users', {
    asksForPassword: false,
    writes: false,
    fields: { q: { schema: Filters.q }, status: { schema: Filters.status }, sort: { schema: Filters.sort } },
    handle: ({ body: { q = '', status, sort = 'newest' } }) => ({
      to: `/console/users${textOf({ q: withoutSecrets(q), status: status || undefined, sort })}`,
    }),
  })

  form('/users/new', {
    title: 'New user',
    back: { path: '/console/users', text: 'Users' },
    asksForPassword: false,
    fields: NEW_USER_FIELDS,
    show: (shown) =>
      splitCard({
        id: 'new',
        title: 'A verified account',
        text: 'The user can sign in at once. To let the user choose the password, create the account, then send a password reset.',
        content: html`<form class="form" method="post" action="${site.root}/console/users/new">
${shown.problem}${shown.field('email', { hasFocus: true })}
${namePair(shown)}
${shown.field('password')}
<div class="actions"><button class="primary">Create user</button><a class="button" href="${site.root}/console/users">Cancel</a></div>
</form>`,
      }),
    async submit({ body, actor }) {
      const { id } = await registration.create(actor, { ...registrantOf(body), role: 'user', verified: true })
      return { to: `/console/users/${id}`, notice: 'user-created' }
    },
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
