import { entity, type ValuesOf } from '../../../model/entity.ts'
import {
  type ListedUser,
  type Role,
  USER,
  USER_COPIES,
  USER_DETAILS,
  type UserCounts,
  type UserListing,
  type UserPage,
  type UserPlace,
  type UserSort,
  type UserStatus,
} from '../../../model/user.ts'
import { type Bit, longRead, type Reads, type SqlTexts, type Statement, type Value } from '../../database.ts'
import { finds, lists } from '../../repository-functions.ts'
import { matchingIn, SEARCHED, termOf, wordsOf } from './user-terms.ts'

const LISTED = entity('users', { ...USER.fields, ...USER_DETAILS.fields })
/** With everything that a list can be sorted by. */
const SORTABLE = entity('users', { ...LISTED.fields, emailKey: USER_COPIES.fields.emailKey })
type Sortable = ValuesOf<typeof SORTABLE.fields>
// Each match costs a read of its user, so that a search by the index sorts at most as many.
const MAX_MATCHES = 5000
// Half of it are the first users, the other half the last ones. A misleading sample costs time, but does not change the result.
const SAMPLE_SIZE = 1000
/** With one match in a hundred, the next users of a list fill a page. A sample is not exact. */
const FREQUENT_HITS = SAMPLE_SIZE / 200
/** With one match in thirty, a walk through the table ends at more matches than can be sorted before the index has read its entries. */
const COMMON_HITS = SAMPLE_SIZE / 30
const WALK_SIZE = 200_000

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
  keyOf(user: Sortable): string | number
  /** How many users of the sorted list a search reads before it uses the index for parts of words. */
  readonly nearSize: number
}

// Users who have never logged in come last.
const LOGGED_IN = 'coalesce(users.last_login_at, 0)'
// With one match in a hundred, a page of fifty is full after these users.
const NEAR_SIZE = 5000
// Neighbours in a list by address are far apart in the table, and each one costs a read.
const NEAR_SIZE_BY_EMAIL = 2000
const BY_CREATION = { columns: ['users.created_at', 'users.id'], keyOf: (user: Sortable) => user.createdAt, nearSize: NEAR_SIZE }
const SORTINGS: Readonly<Record<UserSort, Sorting>> = {
  newest: { ...BY_CREATION, isDescending: true },
  oldest: { ...BY_CREATION, isDescending: false },
  email: { columns: ['users.email_key'], isDescending: false, keyOf: (user) => user.emailKey, nearSize: NEAR_SIZE_BY_EMAIL },
  'signed-in': { columns: [LOGGED_IN, 'users.id'], isDescending: true, keyOf: (user) => user.lastLoginAt ?? 0, nearSize: NEAR_SIZE },
}

const MATCHING = matchingIn(Object.values(SEARCHED))
/** The ids as JSON, and one more than can be sorted if there are too many. */
const MATCHES = { partial: matchesOf(MATCHING.ids.partial), addressPart: matchesOf(MATCHING.ids.addressPart) }
const MATCHES_OF_WORDS = matchesOf(MATCHING.wordIds)
const SAMPLE = sampleOf(MATCHING.isLike, MATCHING.isMatch.sqlite)
const SAMPLE_OF_WORDS = sampleOf(MATCHING.isLikeWords, MATCHING.isIndexedWordsMatch)
/**
 * Counts matches of one term until there are more than can be sorted. The index of PostgreSQL reads its entries of all matches before the
 * first one, so that a common term is found faster in the table. SQLite reads its index no further than needed.
 */
const WALK = hitsIn({
  postgres: `select user_id from (select * from users_search limit ${WALK_SIZE}) as walked where ${MATCHING.isLike}`,
  sqlite: MATCHING.ids.partial.sqlite,
})

type Hits = { readonly hits: number }

function hitsIn({ postgres, sqlite }: SqlTexts): Statement<Hits> {
  const counted = (found: string) => `select count(*) as hits from (${found} limit ${MAX_MATCHES + 1}) as found`
  return longRead({ postgres: counted(postgres), sqlite: counted(sqlite) })
}

/** Counts the matches among the first users and the last ones. */
function sampleOf(isLike: string, isMatch: string): Statement<Hits> {
  const columns = Object.values(SEARCHED).join(', ')
  const sampleIn = (table: string, id: string, condition: string) => {
    const half = (order: string) =>
      `select * from (select ${columns} from ${table} order by ${id} ${order} limit ${SAMPLE_SIZE / 2}) as half`
    return `
      select count(case when ${condition} then 1 end) as hits from (${half('asc')} union all ${half('desc')}) as users`
  }
  return longRead({ postgres: sampleIn('users_search', 'user_id', isLike), sqlite: sampleIn('users', 'id', isMatch) })
}

function matchesOf({ postgres, sqlite }: SqlTexts): Statement<Matches> {
  return longRead({
    // Planned on its own, PostgreSQL uses the index. It would expect to find matches soon by reading the table, wherever they are.
    postgres: `with matching as materialized (${postgres})
      select count(*) as count, coalesce(json_agg(id), '[]')::text as ids from (select id from matching limit ${MAX_MATCHES + 1}) as found`,
    sqlite: `select count(*) as count, json_group_array(id) as ids from (${sqlite} limit ${MAX_MATCHES + 1})`,
  })
}
/** From ids to users, which are then sorted. SQLite keeps the order of a cross join, rather than read the sorted list for its order. */
const GIVEN = {
  postgres: 'users',
  sqlite: 'json_each($1) as given cross join users on users.id = given.value',
}
const IS_GIVEN = 'users.id = any (array(select json_array_elements_text($1::text::json)::bigint))'

type Shape = Pick<UserListing, 'status' | 'sort'> & {
  readonly direction: UserPlace['direction'] | undefined
  /**
   * `near` finds matches among the next users of the sorted list, and `near-words` those of several words. `stop` are the last of these
   * users and the one after. `given` sorts matches of the index.
   */
  readonly search: 'none' | 'near' | 'near-words' | 'stop' | 'given'
}

const statements = new Map<string, Statement<Sortable>>()

/** There are more than a hundred forms of this statement. Each is declared when it is first needed. */
function listStatement(shape: Shape): Statement<Sortable> {
  const name = Object.values(shape).join(' ')
  const known =
    statements.get(name) ?? longRead({ postgres: listSql(shape, 'postgres'), sqlite: listSql(shape, 'sqlite') }, SORTABLE.fromRow)
  statements.set(name, known)
  return known
}

/** The values are the number of users and how many to skip, or the search term or the ids and the number of users; then the place. */
function listSql({ status, sort, direction, search }: Shape, database: 'postgres' | 'sqlite'): string {
  const { isDescending, nearSize } = SORTINGS[sort]
  // Admins are few: sorting them is cheap. Without the sign, SQLite reads all users in order until it has found enough admins.
  const isSortedLast = database === 'sqlite' && status === 'admin'
  const columns = SORTINGS[sort].columns.map((column) => (isSortedLast ? `+${column}` : column))
  // A page before a place is read backwards.
  const isBackwards = isDescending !== (direction === 'before')
  const place = columns.map((_, index) => `$${3 + index}`)
  const conditions = [
    ...(status === undefined ? [] : [CONDITIONS[status]]),
    ...(search === 'given' && database === 'postgres' ? [IS_GIVEN] : []),
    ...(direction === undefined ? [] : [isBeyond(columns, isBackwards ? '<' : '>', place)]),
  ]
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const orderBy = (names: readonly string[]) => `order by ${names.map((name) => `${name} ${isBackwards ? 'desc' : 'asc'}`).join(', ')}`
  const [key = '', ...others] = columns
  switch (search) {
    case 'none':
      return `select ${SORTABLE.columns} from users ${where} ${orderBy(columns)} limit $1 offset $2`
    case 'stop': {
      // The last column of each sorting is unique. Most indexes have it, so that skipped users are not read.
      const unique = SORTINGS[sort].columns.at(-1)
      const skipped = `select ${unique} from users ${where} ${orderBy(columns)} limit $1 offset $2`
      return `select ${SORTABLE.columns} from users where ${unique} in (${skipped}) ${orderBy(columns)}`
    }
    case 'near':
    case 'near-words':
      // The key has a name, so that a database sees that the outer order is the inner one.
      return `
        select ${SORTABLE.columns} from (select users.*, ${key} as sort_key from users ${where} ${orderBy(columns)} limit ${nearSize}) as users
        where ${(search === 'near' ? MATCHING.isMatch : MATCHING.isWordsMatch)[database]} ${orderBy(['users.sort_key', ...others])} limit $2`
    case 'given':
      return `select ${SORTABLE.columns} from ${GIVEN[database]} ${where} ${orderBy(columns)} limit $2`
  }
}

/** SQLite finds the place in an index of expressions by the first condition only: it would read all users up to there. */
function isBeyond(columns: readonly string[], sign: '<' | '>', place: readonly string[]): string {
  return `${columns[0]} ${sign}= ${place[0]} and (${columns.join(', ')}) ${sign} (${place.join(', ')})`
}

/** One page of the users. Its cost depends neither on the number of users nor on the page. */
export async function listUserPage(db: Reads, listing: UserListing): Promise<UserPage> {
  const { sort, place, size } = listing
  const { keyOf, nearSize } = SORTINGS[sort]
  const read = readerOf(db, listing)
  const { rows, stop, isShortTerm } = await readRows(db, read, listing)
  const shown = rows.slice(0, size)
  const isBackwards = place?.direction === 'before'
  const placeOf = (user: Sortable | undefined, direction: UserPlace['direction']) => user && { direction, key: keyOf(user), id: user.id }
  // A search may have found nobody here. The way back then starts from the first user that it has read.
  const first = rows[0] ?? (place && (await read('none', 1, 0))[0])
  const back = place && placeOf(first, isBackwards ? 'after' : 'before')
  const onwards = placeOf(rows.length > size ? shown.at(-1) : stop, isBackwards ? 'before' : 'after')
  return {
    users: (isBackwards ? shown.toReversed() : shown).map(({ emailKey: _, ...user }) => user),
    previous: isBackwards ? onwards : back,
    next: isBackwards ? back : onwards,
    stopped: stop && { after: nearSize, isShortTerm },
  }
}

type Read = (search: Shape['search'], ...values: Value[]) => Promise<Sortable[]>

function readerOf(db: Reads, { status, sort, place }: UserListing): Read {
  const position: Value[] = place === undefined ? [] : [place.key, place.id].slice(0, SORTINGS[sort].columns.length)
  return (search, ...values) => db.all(listStatement({ status, sort, direction: place?.direction, search }), ...values, ...position)
}

type FoundRows = {
  /** One more than the page has, if there is another page. */
  readonly rows: readonly Sortable[]
  /** The last user that a search has read, if there are more to read. */
  readonly stop?: Sortable | undefined
  readonly isShortTerm: boolean
}

/**
 * A search for a frequent term reads the next users of the list. One for a rare term, or one that finds too few there, looks for all matches
 * with the index. If these are too many to be sorted, the search stops where it is. The result is the same in either order.
 */
async function readRows(db: Reads, read: Read, { term, sort, size, status }: UserListing): Promise<FoundRows> {
  const { isForAll, near, indexed } = searchFor(db, term)
  const isShortTerm = indexed === undefined
  if (isForAll) return { rows: await read('none', size + 1, 0), isShortTerm }
  const hits = (await indexed?.sample()) ?? SAMPLE_SIZE
  // Admins are few, so that reading all of them costs less than the index.
  const isRare = hits < FREQUENT_HITS && status !== 'admin'
  const early = isRare ? await indexed?.findMatches(hits) : undefined
  if (isSortable(early)) return { rows: await read('given', early.ids, size + 1), isShortTerm }
  const rows = await read(...near, size + 1)
  if (rows.length > size) return { rows, isShortTerm }
  const [stop, farther] = await read('stop', 2, SORTINGS[sort].nearSize - 1)
  if (farther === undefined) return { rows, isShortTerm }
  const matches = isRare ? undefined : await indexed?.findMatches(hits)
  return isSortable(matches) ? { rows: await read('given', matches.ids, size + 1), isShortTerm } : { rows, stop, isShortTerm }
}

type Matches = { readonly count: number; readonly ids: string }

function isSortable(matches: Matches | undefined): matches is Matches {
  return matches !== undefined && matches.count <= MAX_MATCHES
}

type Search = {
  readonly isForAll: boolean
  /** How the next users of a list are searched. */
  readonly near: readonly ['near' | 'near-words', value: string]
  /** Undefined for a short term, which the index does not cover. */
  readonly indexed: IndexedSearch | undefined
}

type IndexedSearch = {
  sample(): Promise<number | undefined>
  /** Undefined if there are known to be too many to be sorted. */
  findMatches(hits: number): Promise<Matches | undefined>
}

function searchFor(db: Reads, text: string): Search {
  const { folded, isShort, kind } = termOf(text)
  const words = wordsOf(text)
  if (words !== undefined) return { isForAll: false, near: ['near-words', JSON.stringify(words.folded)], indexed: forWords(words.indexed) }
  return { isForAll: folded === '', near: ['near', folded], indexed: isShort ? undefined : forTerm() }

  function forTerm(): IndexedSearch {
    return {
      sample: async () => (await db.first(SAMPLE, folded))?.hits,
      async findMatches(hits) {
        const isWalked = hits >= COMMON_HITS
        if (isWalked && ((await db.first(WALK, folded))?.hits ?? 0) > MAX_MATCHES) return undefined
        return db.first(MATCHES[kind], folded)
      },
    }
  }

  function forWords(indexed: readonly string[] | undefined): IndexedSearch | undefined {
    return (
      indexed && {
        sample: async () => (await db.first(SAMPLE_OF_WORDS, ...indexed))?.hits,
        findMatches: () => db.first(MATCHES_OF_WORDS, ...indexed),
      }
    )
  }
}

export const findListedUser = finds<ListedUser, [id: number]>(`select ${LISTED.columns} from users where id = $1`, LISTED.fromRow)

const listNamed = lists<{ readonly id: number; readonly email: string }, [ids: string]>({
  postgres: 'select id, email from users where id = any (array(select value::bigint from json_array_elements_text($1::text::json)))',
  sqlite: 'select id, email from users where id in (select value from json_each($1))',
})

/** The addresses of users, by their ids. */
export async function listAddresses(db: Reads, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  return new Map((await listNamed(db, JSON.stringify(ids))).map(({ id, email }) => [id, email]))
}

const DAY_MS = 24 * 60 * 60_000

type GroupRow = {
  /** Days since 1970, or -1 for everything before the counted days. */
  readonly day: number
  readonly verified: Bit
  readonly banned: Bit
  readonly role: Role
  readonly count: number
  readonly last_id: number
}

const COUNT_PART = longRead<GroupRow>(`
  select case when created_at >= $2 then created_at / ${DAY_MS} else -1 end as day, verified, banned, role, count(*) as count, max(id) as last_id
  from (select id, created_at, verified, banned, role from users where id > $1 order by id limit $3) as part
  group by 1, 2, 3, 4`)

export type CountOptions = {
  readonly now: number
  /** For how many days, today included, new users are counted. Days begin at midnight, UTC. */
  readonly days: number
  /** How many users one statement reads: few enough for the deadline of a statement. */
  readonly partSize: number
  /** Called when the first part is not all. */
  readonly onLong: () => void
}

/** Counts all users by status, and the new ones of each of the last days, part by part: however many there are, no statement is long. */
export async function countUsers(db: Reads, options: CountOptions): Promise<UserCounts> {
  const { now, days } = options
  const firstDay = Math.floor(now / DAY_MS) - days + 1
  const counts = { all: 0, active: 0, unverified: 0, banned: 0, admin: 0 }
  const byDay = new Map<number, number>()
  for await (const groups of partsOf(db, firstDay * DAY_MS, options)) {
    counts.all += sum(groups)
    counts.active += sum(groups.filter(({ verified, banned }) => verified && !banned))
    counts.unverified += sum(groups.filter(({ verified }) => !verified))
    counts.banned += sum(groups.filter(({ banned }) => banned))
    counts.admin += sum(groups.filter(({ role }) => role === 'admin'))
    for (const { day, count } of groups) byDay.set(day, (byDay.get(day) ?? 0) + count)
  }
  return {
    ...counts,
    perDay: Array.from({ length: days }, (_, n) => ({ startsAt: (firstDay + n) * DAY_MS, count: byDay.get(firstDay + n) ?? 0 })),
  }
}

async function* partsOf(db: Reads, since: number, { partSize, onLong }: CountOptions): AsyncIterable<readonly GroupRow[]> {
  for (let lastId = 0; ; ) {
    const groups = await db.all(COUNT_PART, lastId, since, partSize)
    yield groups
    if (sum(groups) < partSize) return
    onLong()
    lastId = Math.max(...groups.map(({ last_id }) => last_id))
  }
}

function sum(groups: readonly GroupRow[]): number {
  return groups.reduce((total, { count }) => total + count, 0)
}
