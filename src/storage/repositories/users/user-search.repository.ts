import { type FoundUsers, type SearchField, USER, type UserSearch } from '../../../model/user.ts'
import { longRead, type Reads, type Statement, type StoredRow } from '../../database.ts'
import { matchingIn, SEARCHED, type Term, termOf } from './user-terms.ts'

/** A search returns at least one row, which has the total. If the page is empty, the row has no user. */
type FoundRow = StoredRow & { readonly total: number }

// Any sample will do: a misleading one costs time, but does not change the result.
const SAMPLE_SIZE = 1000
const COMMON_HITS = SAMPLE_SIZE / 2
// Beyond any number of users, and still accepted by both databases as an offset and by PostgreSQL as an array index.
const MAX_OFFSET = 2 ** 30

const EVERYONE = longRead<FoundRow>(pageFrom('users', 1))

type Searches = ReturnType<typeof searchesIn>

const SEARCHES: Readonly<Record<SearchField, Searches>> = {
  all: searchesIn(Object.values(SEARCHED)),
  email: searchesIn([SEARCHED.email]),
  firstName: searchesIn([SEARCHED.firstName]),
  lastName: searchesIn([SEARCHED.lastName]),
}

/**
 * The statements that search one field or all. `shortTerm` is for terms that are too short for the index; `commonTerm` is for terms that
 * most users match, where a scan costs less than the index.
 */
function searchesIn(columns: readonly string[]) {
  const { isMatch, isLike, ids, exactIds } = matchingIn(columns)
  const scanned = `select id from users where ${isMatch.sqlite}`
  const search = (postgres: string, sqlite: string) => longRead<FoundRow>({ postgres, sqlite })
  return {
    exact: search(pageFromArray(exactIds.postgres), pageFromSet(exactIds.sqlite)),
    partial: search(pageFromArray(ids.partial.postgres), pageFromOrdered(ids.partial.sqlite)),
    addressPart: search(pageFromArray(ids.addressPart.postgres), pageFromSet(ids.addressPart.sqlite)),
    shortTerm: search(pageFromArray(ids.partial.postgres), pageFromSet(scanned)),
    commonTerm: search(pageFromOrdered(ids.partial.postgres), pageFromOrdered(scanned)),
    /** Counts the matches among the first users, to find out whether most users match. */
    sample: longRead<{ readonly hits: number }>({
      postgres: `select count(*) as hits from (select * from users_search order by user_id limit ${SAMPLE_SIZE}) as sample where ${isLike}`,
      sqlite: `select count(*) as hits from (select * from users order by id limit ${SAMPLE_SIZE}) as users where ${isMatch.sqlite}`,
    }),
  }
}

/** For PostgreSQL: one pass over the ids counts and sorts them; rows are read for the page only. */
function pageFromArray(ids: string): string {
  const page = '(array_agg(id order by id))[$3::integer + 1:$3::integer + $2::integer]'
  return `
    with found as materialized (select count(*) as total, ${page} as page from (${ids}) as matching)
    select found.total, ${USER.columns} from found left join users on users.id = any (found.page) order by users.id`
}

/** For SQLite, where finding an id means reading a row or a long part of the index: each is read once. */
function pageFromSet(ids: string): string {
  return `with matching as materialized (${ids}) ${pageFrom('matching')}`
}

/** For ids that come in order: reading them again up to the page is cheaper than keeping all of them. */
function pageFromOrdered(ids: string): string {
  return pageFrom(`(${ids}) as matching`)
}

function pageFrom(matching: string, size = 2): string {
  return `
    select counted.total, ${USER.columns} from (select count(*) as total from ${matching}) as counted
    left join (select id from ${matching} order by id limit $${size} offset $${size + 1}) as page on true left join users on users.id = page.id
    order by users.id`
}

/** Ignores case. An empty term matches every user. */
export async function searchUsers(db: Reads, { term: text, field, isExact, page, size }: UserSearch): Promise<FoundUsers> {
  const term = termOf(text)
  const offset = Math.min((Number(page) - 1) * size, MAX_OFFSET)
  const rows =
    term.folded === ''
      ? await db.all(EVERYONE, size, offset)
      : await db.all(isExact ? SEARCHES[field].exact : await chooseSearch(db, term, SEARCHES[field]), term.folded, size, offset)
  return { total: rows[0]?.total ?? 0, users: rows.filter((row) => row['id'] !== null).map(USER.fromRow) }
}

async function chooseSearch(db: Reads, { folded, isShort, kind }: Term, searches: Searches): Promise<Statement<FoundRow>> {
  const hits = (await db.first(searches.sample, folded))?.hits ?? 0
  if (hits >= COMMON_HITS) return searches.commonTerm
  return isShort ? searches.shortTerm : searches[kind]
}
