import type { ListedUser, UserListing, UserPage, UserPlace, UserSort, UserStatus } from '../../../model/user.ts'
import { statement as declareStatement, longRead, type Reads, type Statement, type Value } from '../../database.ts'
import { fold } from './folding.ts'
import { toUser, USER_COLUMNS, type UserRow } from './user.repository.ts'
import { COLUMNS, PATTERN, PHRASE, TRIGRAM_LENGTH } from './user-search.repository.ts'

type ListedRow = UserRow & { readonly created_at: number; readonly last_login_at: number | null; readonly email_key: string }

const LISTED_COLUMNS = `${USER_COLUMNS}, users.created_at, users.last_login_at, users.email_key`
const SAMPLE_SIZE = 1000
// From one match in two hundred on, walking through the sorted list usually reaches a full page sooner than collecting and sorting all matches.
const COMMON_HITS = SAMPLE_SIZE / 200
// From one match in five on, it does so even if all matches are at the end of the list.
const VERY_COMMON_HITS = SAMPLE_SIZE / 5

/** The conditions are those of the partial indexes of migration console. */
const CONDITIONS: Readonly<Record<UserStatus, string>> = {
  active: 'users.verified = true and users.banned = false',
  unverified: 'users.verified = false',
  banned: 'users.banned = true',
  admin: "users.role = 'admin'",
}

type Sorting = {
  readonly columns: readonly string[]
  readonly isDescending: boolean
  keyOf(row: ListedRow): string | number
  /** How many users of the sorted list a search looks at before it uses the index for parts of words. */
  readonly nearSize: number
}

// Users who have never logged in come last.
const LOGGED_IN = 'coalesce(users.last_login_at, 0)'
// With one match in two hundred, a page of fifty is full after these users. If it is not, the matches are elsewhere.
const NEAR_SIZE = 10_000
// Neighbours in a list by address are far apart in the table, and each one costs a read. Nor are matches spread evenly: those for `zoe` are
// at the end.
const NEAR_SIZE_BY_EMAIL = 2000
const BY_CREATION = { columns: ['users.created_at', 'users.id'], keyOf: (row: ListedRow) => row.created_at, nearSize: NEAR_SIZE }
const SORTINGS: Readonly<Record<UserSort, Sorting>> = {
  newest: { ...BY_CREATION, isDescending: true },
  oldest: { ...BY_CREATION, isDescending: false },
  email: { columns: ['users.email_key'], isDescending: false, keyOf: (row) => row.email_key, nearSize: NEAR_SIZE_BY_EMAIL },
  'signed-in': { columns: [LOGGED_IN, 'users.id'], isDescending: true, keyOf: (row) => row.last_login_at ?? 0, nearSize: NEAR_SIZE },
}

const FOLDED = Object.values(COLUMNS)
const contains = (find: string) => FOLDED.map((column) => `${find}(users.${column}, $1) > 0`).join(' or ')
const IS_MATCH = { postgres: `(${contains('strpos')})`, sqlite: `(${contains('instr')})` }
const IS_LIKE = `(${FOLDED.map((column) => `${column} like ${PATTERN}`).join(' or ')})`
const MATCHING = {
  postgres: `select user_id as id from users_search where ${IS_LIKE}`,
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
  /**
   * How a search term is applied: to each user of the sorted list, to those that are near, or first of all with the index for parts of
   * words. `farther` says whether there are users that are not near.
   */
  readonly search: 'none' | 'walk' | 'near' | 'collect' | 'farther'
}

const statements = new Map<string, Statement<ListedRow>>()

/** There are more than a hundred forms of this statement. Each is declared when it is first needed. */
function listStatement(shape: Shape): Statement<ListedRow> {
  const name = Object.values(shape).join(' ')
  const known = statements.get(name) ?? longRead<ListedRow>(listSql(shape, 'postgres'), listSql(shape, 'sqlite'))
  statements.set(name, known)
  return known
}

/** The values are the search term, where there is one, the number of users, and the place. */
function listSql({ status, sort, direction, search }: Shape, database: 'postgres' | 'sqlite'): string {
  const { columns, isDescending, nearSize } = SORTINGS[sort]
  // A page before a place is read backwards.
  const isBackwards = isDescending !== (direction === 'before')
  const first = search === 'none' || search === 'farther' ? 1 : 2
  const place = columns.map((_, index) => `$${first + 1 + index}`)
  const conditions = [
    ...(status === undefined ? [] : [CONDITIONS[status]]),
    ...(search === 'walk' ? [IS_MATCH[database]] : []),
    ...(direction === undefined ? [] : [`(${columns.join(', ')}) ${isBackwards ? '<' : '>'} (${place.join(', ')})`]),
  ]
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const orderBy = (names: readonly string[]) => `order by ${names.map((name) => `${name} ${isBackwards ? 'desc' : 'asc'}`).join(', ')}`
  const [key = '', ...others] = columns
  // On PostgreSQL the table of the search has the addresses too: a list by address finds its page there, and reads only the users of it.
  const isInSearch = database === 'postgres' && sort === 'email' && status === undefined
  const inSearch = `select user_id as id from users_search as users where ${[IS_LIKE, ...conditions].join(' and ')} ${orderBy(columns)}`
  switch (search) {
    case 'near':
      // The key has a name, so that a database sees that the outer order is the inner one.
      return `
        select ${LISTED_COLUMNS} from (select users.*, ${key} as sort_key from users ${where} ${orderBy(columns)} limit ${nearSize}) as users
        where ${IS_MATCH[database]} ${orderBy(['users.sort_key', ...others])} limit $${first}`
    case 'farther':
      return `select 1 as id from users ${where} ${orderBy(columns)} limit 1 offset $${first}`
    case 'collect':
      return `
        with matching as materialized (${isInSearch ? `${inSearch} limit $${first}` : MATCHING[database]})
        select ${LISTED_COLUMNS} from matching join users on users.id = matching.id ${where} ${orderBy(columns)} limit $${first}`
    case 'none':
    case 'walk':
      return `select ${LISTED_COLUMNS} from users ${where} ${orderBy(columns)} limit $${first}`
  }
}

/** One page of the users. Without a search, its cost depends neither on the number of users nor on the page. */
export async function listUserPage(db: Reads, listing: UserListing): Promise<UserPage> {
  const { sort, place, size } = listing
  const { keyOf } = SORTINGS[sort]
  const rows = await readRows(db, listing)
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

/** One more than the page has, which says whether there is another page. */
async function readRows(db: Reads, { term, status, sort, place, size }: UserListing): Promise<ListedRow[]> {
  const folded = fold(term)
  const { columns, nearSize } = SORTINGS[sort]
  const position: Value[] = place === undefined ? [] : [place.key, place.id].slice(0, columns.length)
  const statementFor = (search: Shape['search']) => listStatement({ status, sort, direction: place?.direction, search })
  if (folded === '') return db.all(statementFor('none'), size + 1, ...position)
  const search = await chooseSearch(db, folded)
  const found = await db.all(statementFor(search), folded, size + 1, ...position)
  if (search !== 'near' || found.length > size) return found
  const farther = await db.first(statementFor('farther'), nearSize, ...position)
  return farther === undefined ? found : db.all(statementFor('collect'), folded, size + 1, ...position)
}

async function chooseSearch(db: Reads, folded: string): Promise<'walk' | 'near' | 'collect'> {
  if (Array.from(folded).length < TRIGRAM_LENGTH) return 'walk'
  const hits = (await db.first(SAMPLE, folded))?.hits ?? 0
  if (hits >= VERY_COMMON_HITS) return 'walk'
  return hits >= COMMON_HITS ? 'near' : 'collect'
}

function toListedUser(row: ListedRow): ListedUser {
  return { ...toUser(row), createdAt: row.created_at, lastLoginAt: row.last_login_at ?? undefined }
}

const FIND = declareStatement<ListedRow>(`select ${LISTED_COLUMNS} from users where id = $1`)

export async function findListedUser(db: Reads, id: number): Promise<ListedUser | undefined> {
  const row = await db.first(FIND, id)
  return row && toListedUser(row)
}
