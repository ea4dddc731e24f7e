import type { FoundUsers, Profile, SearchField, UserSearch } from '../model/user.ts'
import { longRead, type Queries, type Statement } from './database.ts'
import { fold } from './folding.ts'
import { toUser, USER_COLUMNS, type UserRow } from './user.repository.ts'

/** Always at least one row, for the total; without a user on a page that is empty. */
type FoundRow = { readonly total: number } & (UserRow | { readonly id: null })

const TRIGRAM_LENGTH = 3
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

/** How a term can match: as the whole field, as a part of it by the index, or, too short for the index, by looking at each. */
type Searches = Readonly<Record<'whole' | 'part' | 'shortPart', Statement<FoundRow>>>

const SEARCHES: Readonly<Record<SearchField, Searches>> = {
  all: searchesIn(Object.values(COLUMNS)),
  email: searchesIn([COLUMNS.email]),
  firstName: searchesIn([COLUMNS.firstName]),
  lastName: searchesIn([COLUMNS.lastName]),
}

function searchesIn(columns: readonly string[]): Searches {
  const joined = (condition: (column: string) => string) => columns.map(condition).join(' or ')
  const copied = (condition: string) => `select user_id as id from users_search where ${condition}`
  const users = (condition: string) => `select id from users where ${condition}`
  return {
    whole: longRead(pageOfList(columns.map(wholeIn).join(' union ')), pageOfSet(users(joined((column) => `${column} = $1`)))),
    part: longRead(
      pageOfList(copied(joined((column) => `${column} like ${PATTERN}`))),
      pageOfWalk(`select rowid as id from users_search where users_search match '{${columns.join(' ')}} : ' || ${PHRASE}`),
    ),
    shortPart: longRead(
      pageOfList(copied(joined((column) => `strpos(${column}, $1) > 0`))),
      pageOfSet(users(joined((column) => `instr(${column}, $1) > 0`))),
    ),
  }
}

// The index that keeps addresses apart is that of users; names have theirs beside the other index for search.
function wholeIn(column: string): string {
  return column === COLUMNS.email
    ? `select id from users where ${column} = $1`
    : `select user_id as id from users_search where ${column} = $1`
}

/** For PostgreSQL: the ids are gone through once, and counted and put in order on the way; rows are read for the page only. */
function pageOfList(ids: string): string {
  return `
    with found as materialized (select count(*) as total, (array_agg(id order by id))[$3::integer + 1:$3::integer + $2::integer] as page from (${ids}) as matching)
    select found.total, ${USER_COLUMNS} from found left join users on users.id = any (found.page) order by users.id`
}

/** For SQLite, where finding an id means looking at a row: each is looked at once. */
function pageOfSet(ids: string): string {
  return `with matching as materialized (${ids}) ${pageOfMatching('matching')}`
}

/** For SQLite, where the index for search gives ids in order: going through it again as far as the page is cheaper than keeping them. */
function pageOfWalk(ids: string): string {
  return pageOfMatching(`(${ids})`)
}

function pageOfMatching(matching: string): string {
  return `
    select counted.total, ${USER_COLUMNS} from (select count(*) as total from ${matching}) as counted
    left join (select id from ${matching} order by id limit $2 offset $3) as page on true left join users on users.id = page.id
    order by users.id`
}

/** Case does not matter. An empty term is in everything. */
export async function searchUsers(db: Queries, { term, field, isExact, page, size }: UserSearch): Promise<FoundUsers> {
  const folded = fold(term)
  const offset = Math.min((Number(page) - 1) * size, MAX_OFFSET)
  const rows =
    folded === '' ? await db.all(EVERYONE, size, offset) : await db.all(chooseSearch(folded, field, isExact), folded, size, offset)
  return { total: rows[0]?.total ?? 0, users: rows.filter((row) => row.id !== null).map(toUser) }
}

function chooseSearch(folded: string, field: SearchField, isExact: boolean): Statement<FoundRow> {
  const searches = SEARCHES[field]
  if (isExact) return searches.whole
  return Array.from(folded).length < TRIGRAM_LENGTH ? searches.shortPart : searches.part
}
