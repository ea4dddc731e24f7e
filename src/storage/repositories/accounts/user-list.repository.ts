import type { ListedUser, UserListing, UserPage, UserPlace, UserSort, UserStatus } from '../../../model/user.ts'
import { statement as declareStatement, longRead, type Reads, type Statement, type Value } from '../../database.ts'
import { fold } from './folding.ts'
import { toUser, USER_COLUMNS, type UserRow } from './user.repository.ts'
import { COLUMNS, PATTERN, PHRASE, TRIGRAM_LENGTH } from './user-search.repository.ts'

type ListedRow = UserRow & { readonly created_at: number; readonly last_login_at: number | null; readonly email_key: string }

const LISTED_COLUMNS = `${USER_COLUMNS}, users.created_at, users.last_login_at, users.email_key`
const SAMPLE_SIZE = 1000
// From one match in a hundred on, walking through the sorted list reaches a full page sooner than collecting and sorting all matches.
const COMMON_HITS = SAMPLE_SIZE / 100

/** The conditions are those of the partial indexes of migration console. */
const CONDITIONS: Readonly<Record<UserStatus, string>> = {
  active: 'users.verified = true and users.banned = false',
  unverified: 'users.verified = false',
  banned: 'users.banned = true',
  admin: "users.role = 'admin'",
}

type Sorting = { readonly columns: readonly string[]; readonly isDescending: boolean; keyOf(row: ListedRow): string | number }

// Users who have never logged in come last.
const LOGGED_IN = 'coalesce(users.last_login_at, 0)'
const BY_CREATION = { columns: ['users.created_at', 'users.id'], keyOf: (row: ListedRow) => row.created_at }
const SORTINGS: Readonly<Record<UserSort, Sorting>> = {
  newest: { ...BY_CREATION, isDescending: true },
  oldest: { ...BY_CREATION, isDescending: false },
  email: { columns: ['users.email_key'], isDescending: false, keyOf: (row) => row.email_key },
  'signed-in': { columns: [LOGGED_IN, 'users.id'], isDescending: true, keyOf: (row) => row.last_login_at ?? 0 },
}

const FOLDED = Object.values(COLUMNS)
const contains = (find: string) => FOLDED.map((column) => `${find}(users.${column}, $1) > 0`).join(' or ')
const IS_MATCH = { postgres: `(${contains('strpos')})`, sqlite: `(${contains('instr')})` }
const MATCHING = {
  postgres: `select user_id as id from users_search where ${FOLDED.map((column) => `${column} like ${PATTERN}`).join(' or ')}`,
  sqlite: `select rowid as id from users_search where users_search match '{${FOLDED.join(' ')}} : ' || ${PHRASE}`,
}

/** Both ends of the list: what is common among old accounts may be rare among new ones. */
const SAMPLE = longRead<{ hits: number }>(sampleSql('postgres'), sampleSql('sqlite'))

function sampleSql(database: 'postgres' | 'sqlite'): string {
  const end = (order: string) => `select * from (select * from users order by id ${order} limit ${SAMPLE_SIZE / 2}) as part_${order}`
  return `select count(*) as hits from (${end('asc')} union all ${end('desc')}) as users where ${IS_MATCH[database]}`
}

type Shape = Pick<UserListing, 'status' | 'sort'> & {
  readonly direction: UserPlace['direction'] | undefined
  /** How a search term is applied: to each user of the sorted list, or first of all with the index for parts of words. */
  readonly search: 'none' | 'walk' | 'collect'
}

const statements = new Map<string, Statement<ListedRow>>()

/** There are a hundred forms of this statement. Each is declared when it is first needed. */
function listStatement(shape: Shape): Statement<ListedRow> {
  const name = Object.values(shape).join(' ')
  const known = statements.get(name) ?? longRead<ListedRow>(listSql(shape, 'postgres'), listSql(shape, 'sqlite'))
  statements.set(name, known)
  return known
}

function listSql({ status, sort, direction, search }: Shape, database: 'postgres' | 'sqlite'): string {
  const { columns, isDescending } = SORTINGS[sort]
  // A page before a place is read backwards.
  const isBackwards = isDescending !== (direction === 'before')
  const first = search === 'none' ? 1 : 2
  const place = columns.map((_, index) => `$${first + 1 + index}`)
  const conditions = [
    ...(status === undefined ? [] : [CONDITIONS[status]]),
    ...(search === 'walk' ? [IS_MATCH[database]] : []),
    ...(direction === undefined ? [] : [`(${columns.join(', ')}) ${isBackwards ? '<' : '>'} (${place.join(', ')})`]),
  ]
  return `
    ${search === 'collect' ? `with matching as materialized (${MATCHING[database]})` : ''}
    select ${LISTED_COLUMNS} from ${search === 'collect' ? 'matching join users on users.id = matching.id' : 'users'}
    ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
    order by ${columns.map((column) => `${column} ${isBackwards ? 'desc' : 'asc'}`).join(', ')} limit $${first}`
}

/** One page of the users. Its cost does not depend on the number of users or on the page. */
export async function listUserPage(db: Reads, { term, status, sort, place, size }: UserListing): Promise<UserPage> {
  const folded = fold(term)
  const search = folded === '' ? 'none' : await chooseSearch(db, folded)
  const { columns, keyOf } = SORTINGS[sort]
  const position: Value[] = place === undefined ? [] : [place.key, place.id].slice(0, columns.length)
  const statement = listStatement({ status, sort, direction: place?.direction, search })
  // One more than the page has says whether there is another page.
  const rows = await db.all(statement, ...(search === 'none' ? [] : [folded]), size + 1, ...position)
  const shown = rows.slice(0, size)
  const isBackwards = place?.direction === 'before'
  if (isBackwards) shown.reverse()
  const hasMore = rows.length > size
  const placeOf = (row: ListedRow | undefined, direction: UserPlace['direction']) => row && { direction, key: keyOf(row), id: row.id }
  return {
    users: shown.map(toListedUser),
    previous: (isBackwards ? hasMore : place !== undefined) ? placeOf(shown[0], 'before') : undefined,
    next: (isBackwards ? true : hasMore) ? placeOf(shown.at(-1), 'after') : undefined,
  }
}

async function chooseSearch(db: Reads, folded: string): Promise<'walk' | 'collect'> {
  if (Array.from(folded).length < TRIGRAM_LENGTH) return 'walk'
  const hits = (await db.first(SAMPLE, folded))?.hits ?? 0
  return hits >= COMMON_HITS ? 'walk' : 'collect'
}

function toListedUser(row: ListedRow): ListedUser {
  return { ...toUser(row), createdAt: row.created_at, lastLoginAt: row.last_login_at ?? undefined }
}

const FIND = declareStatement<ListedRow>(`select ${LISTED_COLUMNS} from users where id = $1`)

export async function findListedUser(db: Reads, id: number): Promise<ListedUser | undefined> {
  const row = await db.first(FIND, id)
  return row && toListedUser(row)
}
