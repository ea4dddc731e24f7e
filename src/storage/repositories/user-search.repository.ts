import type { FoundUsers, Profile, SearchField, UserSearch } from '../../model/user.ts'
import { longRead, type Reads, type Statement } from '../database.ts'
import { fold } from './folding.ts'
import { toUser, USER_COLUMNS, type UserRow } from './user.repository.ts'

/** Always at least one row, for the total; without a user on a page that is empty. */
type FoundRow = { readonly total: number } & (UserRow | { readonly id: null })

const TRIGRAM_LENGTH = 3
// Who they are does not matter: a sample that misleads costs time, and the result is the same.
const SAMPLE_SIZE = 1000
const COMMON_HITS = SAMPLE_SIZE / 2
// Far past any user, and still a number that both databases take as an offset and PostgreSQL as a place in a list.
const MAX_OFFSET = 2 ** 30

const COLUMNS: Readonly<Record<keyof Profile, string>> = {
  email: 'email_key',
  firstName: 'first_name_folded',
  lastName: 'last_name_folded',
}
// The wildcards of LIKE are ordinary characters to a searcher.
const PATTERN = String.raw`'%' || replace(replace(replace($1, '\', '\\'), '%', '\%'), '_', '\_') || '%'`
const PHRASE = `'"' || replace($1, '"', '""') || '"'`

const EVERYONE = longRead<FoundRow>(`
  select counted.total, ${USER_COLUMNS} from (select count(*) as total from users) as counted
  left join (select id from users order by id limit $1 offset $2) as page on true left join users on users.id = page.id
  order by users.id`)

/**
 * How a term is looked for: as the whole field; as a part of it by the index; too short for the index; or, where most users have it,
 * by looking at each, which then costs less than the index does.
 */
type Searches = Readonly<Record<'whole' | 'part' | 'shortPart' | 'commonPart', Statement<FoundRow>>> & {
  /** How many of the first users have the term: whether most have it. */
  readonly sample: Statement<{ readonly hits: number }>
}

const SEARCHES: Readonly<Record<SearchField, Searches>> = {
  all: searchesIn(Object.values(COLUMNS)),
  email: searchesIn([COLUMNS.email]),
  firstName: searchesIn([COLUMNS.firstName]),
  lastName: searchesIn([COLUMNS.lastName]),
}

function searchesIn(columns: readonly string[]): Searches {
  const joined = (condition: (column: string) => string) => columns.map(condition).join(' or ')
  const isLike = joined((column) => `${column} like ${PATTERN}`)
  const isWithin = joined((column) => `instr(${column}, $1) > 0`)
  const copies = `select user_id as id from users_search where ${isLike}`
  const users = (condition: string) => `select id from users where ${condition}`
  const phrases = `select rowid as id from users_search where users_search match '{${columns.join(' ')}} : ' || ${PHRASE}`
  return {
    whole: longRead(pageOfList(columns.map(wholeIn).join(' union ')), pageOfSet(users(joined((column) => `${column} = $1`)))),
    part: longRead(pageOfList(copies), pageOfWalk(phrases)),
    shortPart: longRead(pageOfList(copies), pageOfSet(users(isWithin))),
    commonPart: longRead(pageOfWalk(copies), pageOfWalk(users(isWithin))),
    sample: longRead(
      `select count(*) as hits from (select * from users_search order by user_id limit ${SAMPLE_SIZE}) as sample where ${isLike}`,
      `select count(*) as hits from (select * from users order by id limit ${SAMPLE_SIZE}) as sample where ${isWithin}`,
    ),
  }
}

// The index that keeps addresses apart is that of users; names have theirs where they are searched.
function wholeIn(column: string): string {
  return column === COLUMNS.email
    ? `select id from users where ${column} = $1`
    : `select user_id as id from users_search where ${column} = $1`
}

/** For PostgreSQL: the ids are gone through once, and counted and put in order on the way; rows are read for the page only. */
function pageOfList(ids: string): string {
  const page = '(array_agg(id order by id))[$3::integer + 1:$3::integer + $2::integer]'
  return `
    with found as materialized (select count(*) as total, ${page} as page from (${ids}) as matching)
    select found.total, ${USER_COLUMNS} from found left join users on users.id = any (found.page) order by users.id`
}

/** For SQLite, where an id is found by looking at a row: each is looked at once. */
function pageOfSet(ids: string): string {
  return `with matching as materialized (${ids}) ${pageOfMatching('matching')}`
}

/** Where ids come in order: going through them again as far as the page is cheaper than keeping all of them. */
function pageOfWalk(ids: string): string {
  return pageOfMatching(`(${ids}) as matching`)
}

function pageOfMatching(matching: string): string {
  return `
    select counted.total, ${USER_COLUMNS} from (select count(*) as total from ${matching}) as counted
    left join (select id from ${matching} order by id limit $2 offset $3) as page on true left join users on users.id = page.id
    order by users.id`
}

/** Case does not matter. An empty term is in everything. */
export async function searchUsers(db: Reads, { term, field, isExact, page, size }: UserSearch): Promise<FoundUsers> {
  const folded = fold(term)
  const offset = Math.min((Number(page) - 1) * size, MAX_OFFSET)
  const rows =
    folded === ''
      ? await db.all(EVERYONE, size, offset)
      : await db.all(await chooseSearch(db, folded, field, isExact), folded, size, offset)
  return { total: rows[0]?.total ?? 0, users: rows.filter((row) => row.id !== null).map(toUser) }
}

async function chooseSearch(db: Reads, folded: string, field: SearchField, isExact: boolean): Promise<Statement<FoundRow>> {
  const { whole, part, shortPart, commonPart, sample } = SEARCHES[field]
  if (isExact) return whole
  const hits = (await db.first(sample, folded))?.hits ?? 0
  if (hits >= COMMON_HITS) return commonPart
  return Array.from(folded).length < TRIGRAM_LENGTH ? shortPart : part
}
