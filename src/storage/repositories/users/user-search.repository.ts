import { type FoundUsers, type Profile, type SearchField, USER, type UserSearch } from '../../../model/user.ts'
import { longRead, type Reads, type Statement, type StoredRow } from '../../database.ts'
import { fold } from './user.repository.ts'

/** Searches of PostgreSQL by an index: for any term of three letters or more, and for one with a single @ after its first character. */
export type IndexedSearch = 'partial' | 'addressPart'

/** A search returns at least one row, which has the total. If the page is empty, the row has no user. */
type FoundRow = StoredRow & { readonly total: number }

export const TRIGRAM_LENGTH = 3
// Any sample will do: a misleading one costs time, but does not change the result.
const SAMPLE_SIZE = 1000
const COMMON_HITS = SAMPLE_SIZE / 2
// Beyond any number of users, and still accepted by both databases as an offset and by PostgreSQL as an array index.
const MAX_OFFSET = 2 ** 30

/** The columns that a search reads, in folded form. */
export const COLUMNS: Readonly<Record<keyof Profile, string>> = {
  email: 'email_key',
  firstName: 'first_name_folded',
  lastName: 'last_name_folded',
}
// The wildcards of LIKE are ordinary characters in a search term.
const literal = (text: string) => String.raw`replace(replace(replace(${text}, '\', '\\'), '%', '\%'), '_', '\_')`
const PATTERN = `'%' || ${literal('$1')} || '%'`
/**
 * For PostgreSQL, and a term with one @: an address with the term in it has a local part that ends like the term before its @. This is
 * true for every match, and lets PostgreSQL choose an index that finds few users even if many share each part of the address.
 */
const IS_LOCAL_PART = `reverse(split_part(email_key, '@', 1)) like ${literal("reverse(split_part($1, '@', 1))")} || '%'`
export const PHRASE = `'"' || replace($1, '"', '""') || '"'`

const EVERYONE = longRead<FoundRow>(`
  select counted.total, ${USER.columns} from (select count(*) as total from users) as counted
  left join (select id from users order by id limit $1 offset $2) as page on true left join users on users.id = page.id
  order by users.id`)

/**
 * The statements that search one field or all: `exact` compares the whole field; `partial` uses the trigram index; `addressPart` is for
 * terms with a single @ after their first character; `shortTerm` is for terms that are too short for the index; `commonTerm` is for terms
 * that most users match, where a scan costs less than the index.
 */
type Searches = Readonly<Record<'exact' | IndexedSearch | 'shortTerm' | 'commonTerm', Statement<FoundRow>>> & {
  /** Counts the matches among the first users, to find out whether most users match. */
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
  const isLike = isLikeIn(columns, 'partial')
  const isWithin = joined((column) => `instr(${column}, $1) > 0`)
  const copies = `select user_id as id from users_search where ${isLike}`
  const addresses = `select user_id as id from users_search where ${isLikeIn(columns, 'addressPart')}`
  const users = (condition: string) => `select id from users where ${condition}`
  const phrases = `select rowid as id from users_search where users_search match '{${columns.join(' ')}} : ' || ${PHRASE}`
  return {
    exact: longRead(pageFromArray(columns.map(exactIn).join(' union ')), pageFromSet(users(joined((column) => `${column} = $1`)))),
    partial: longRead(pageFromArray(copies), pageFromOrdered(phrases)),
    addressPart: longRead(pageFromArray(addresses), pageFromOrdered(phrases)),
    shortTerm: longRead(pageFromArray(copies), pageFromSet(users(isWithin))),
    commonTerm: longRead(pageFromOrdered(copies), pageFromOrdered(users(isWithin))),
    sample: longRead(
      `select count(*) as hits from (select * from users_search order by user_id limit ${SAMPLE_SIZE}) as sample where ${isLike}`,
      `select count(*) as hits from (select * from users order by id limit ${SAMPLE_SIZE}) as sample where ${isWithin}`,
    ),
  }
}

/** For PostgreSQL: a condition for users of whom one of the columns contains the term. */
export function isLikeIn(columns: readonly string[], kind: IndexedSearch): string {
  return columns
    .map((column) => {
      const isLike = `${column} like ${PATTERN}`
      return kind === 'addressPart' && column === COLUMNS.email ? `(${isLike} and ${IS_LOCAL_PART})` : isLike
    })
    .join(' or ')
}

/** How the index is asked for a folded term. An address has one @. */
export function indexedSearchOf(folded: string): IndexedSearch {
  return /^[^@]+@[^@]*$/.test(folded) ? 'addressPart' : 'partial'
}

// Addresses have their unique index on the table users; names have theirs on the table users_search.
function exactIn(column: string): string {
  return column === COLUMNS.email
    ? `select id from users where ${column} = $1`
    : `select user_id as id from users_search where ${column} = $1`
}

/** For PostgreSQL: one pass over the ids counts and sorts them; rows are read for the page only. */
function pageFromArray(ids: string): string {
  const page = '(array_agg(id order by id))[$3::integer + 1:$3::integer + $2::integer]'
  return `
    with found as materialized (select count(*) as total, ${page} as page from (${ids}) as matching)
    select found.total, ${USER.columns} from found left join users on users.id = any (found.page) order by users.id`
}

/** For SQLite, where finding an id means reading a row: each row is read once. */
function pageFromSet(ids: string): string {
  return `with matching as materialized (${ids}) ${pageFrom('matching')}`
}

/** For ids that come in order: reading them again up to the page is cheaper than keeping all of them. */
function pageFromOrdered(ids: string): string {
  return pageFrom(`(${ids}) as matching`)
}

function pageFrom(matching: string): string {
  return `
    select counted.total, ${USER.columns} from (select count(*) as total from ${matching}) as counted
    left join (select id from ${matching} order by id limit $2 offset $3) as page on true left join users on users.id = page.id
    order by users.id`
}

/** Ignores case. An empty term matches every user. */
export async function searchUsers(db: Reads, { term, field, isExact, page, size }: UserSearch): Promise<FoundUsers> {
  const folded = fold(term)
  const offset = Math.min((Number(page) - 1) * size, MAX_OFFSET)
  const rows =
    folded === ''
      ? await db.all(EVERYONE, size, offset)
      : await db.all(await chooseSearch(db, folded, field, isExact), folded, size, offset)
  return { total: rows[0]?.total ?? 0, users: rows.filter((row) => row['id'] !== null).map(USER.fromRow) }
}

async function chooseSearch(db: Reads, folded: string, field: SearchField, isExact: boolean): Promise<Statement<FoundRow>> {
  const searches = SEARCHES[field]
  const { exact, shortTerm, commonTerm, sample } = searches
  if (isExact) return exact
  const hits = (await db.first(sample, folded))?.hits ?? 0
  if (hits >= COMMON_HITS) return commonTerm
  return Array.from(folded).length < TRIGRAM_LENGTH ? shortTerm : searches[indexedSearchOf(folded)]
}
