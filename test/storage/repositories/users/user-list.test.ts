import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest, type TestContext } from 'node:test'
import { Refusal } from '../../../../src/model/refusal.ts'
import type { UserListing, UserPage, UserPlace, UserSort } from '../../../../src/model/user.ts'
import { type Reads, statement } from '../../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../../src/storage/open.ts'
import { listUserPage } from '../../../../src/storage/repositories/users/user-list.repository.ts'
import { eventually, until } from '../../../support/app/eventually.ts'
import { type DatabaseKind, freshDatabase, test } from '../../../support/databases/databases.ts'

const USERS = 12_500
const SORTS: readonly UserSort[] = ['newest', 'oldest', 'email', 'signed-in']
const BATCH_SIZE = 500
// The last ones by address, who are also the oldest, are called Zoe; every tenth user is banned.
const ZOES = 120
// All but the first ones by address, and too many to be sorted, have this last name.
const COMMON_NAME = 'lindgren'
const FIRST_COMMON = 2200
const FILL = statement(`
  insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, verified, banned, created_at)
  with recursive numbers (n) as (select cast($1 as bigint) union all select n + 1 from numbers where n < $2)
  select name || (100000 + n) || '@example.com', name || (100000 + n) || '@example.com', '!', name, name, surname, surname, 'user', true, n % 10 = 0, n * 1000
  from (
    select n, case when n <= ${ZOES} then 'zoe' else 'amy' end as name, case when n < ${FIRST_COMMON} then 'x' else '${COMMON_NAME}' end as surname
    from numbers
  ) as named`)

/** Repeats a read that a busy machine did not finish before the deadline of a request. */
async function patiently<Result>(read: () => Promise<Result>): Promise<Result> {
  const answer = await eventually('the database answers', () =>
    read().then(
      (result) => ({ result }),
      (error: unknown) => {
        if (!(error instanceof Refusal && error.code === 'unavailable')) throw error
        return undefined
      },
    ),
  )
  return answer.result
}

/** A database with many users, and the names of the searches that were made in it. */
async function start(t: TestContext & { database: DatabaseKind }) {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  // A single statement could take longer than the service waits.
  for (let n = 0; n < USERS; n += BATCH_SIZE) await db.transaction((tx) => tx.run(FILL, n + 1, n + BATCH_SIZE), { isLong: true })
  // The first long read starts the reading thread of SQLite, which can take longer than a read may.
  const ready = { term: '', status: undefined, sort: 'newest', place: undefined, size: 1 } as const
  await until('a page can be read', () =>
    listUserPage(db, ready).then(
      () => true,
      () => false,
    ),
  )
  const statements: string[] = []
  const reads: Reads = {
    first(read, ...values) {
      statements.push(read.sql)
      return patiently(() => db.first(read, ...values))
    },
    all(read, ...values) {
      statements.push(read.sql)
      return patiently(() => db.all(read, ...values))
    },
  }
  return { reads, statements }
}

const MOST_PAGES = 10_000

/** All addresses, page by page, forwards and then backwards. */
async function walk(reads: Reads, listing: Pick<UserListing, 'term' | 'status' | 'sort'>): Promise<string[]> {
  const page = (place: UserPlace | undefined) => listUserPage(reads, { ...listing, place, size: 50 })
  const emails: string[] = []
  const pages: number[] = []
  let last = await page(undefined)
  for (;;) {
    assert.ok(pages.length < MOST_PAGES, 'the list has an end')
    emails.push(...last.users.map(({ email }) => email))
    pages.push(last.users.length)
    if (last.next === undefined) break
    last = await page(last.next)
  }
  const back: number[] = [last.users.length]
  for (; last.previous !== undefined && back.length <= pages.length; back.unshift(last.users.length)) last = await page(last.previous)
  assert.deepEqual(back, pages)
  return emails
}

test('a search finds all matches at the end of a long list with the index, and reads a short part of the list where many users match', async (t) => {
  const { reads, statements } = await start(t)
  const zoes = Array.from({ length: ZOES }, (_, n) => `zoe${100_001 + n}@example.com`)
  const banned = zoes.filter((email) => email.includes('0@'))
  for (const sort of SORTS) {
    const ordered = (emails: string[]) => (sort === 'newest' || sort === 'signed-in' ? emails.toReversed() : emails)
    statements.length = 0
    assert.deepEqual(await walk(reads, { term: 'ZOE', status: undefined, sort }), ordered(zoes), sort)
    if (sort === 'newest' || sort === 'email')
      assert.ok(
        statements.some((sql) => sql.includes('materialized')),
        sort,
      )
    assert.deepEqual(await walk(reads, { term: 'zoe1', status: 'banned', sort }), ordered(banned), sort)
    assert.deepEqual(await walk(reads, { term: 'zoe1', status: 'unverified', sort }), [], sort)
  }
  statements.length = 0
  for (const sort of SORTS) {
    const { users, next } = await listUserPage(reads, { term: 'amy', status: undefined, sort, place: undefined, size: 50 })
    assert.deepEqual([users.length, next?.direction], [50, 'after'])
  }
  assert.ok(!statements.some((sql) => sql.includes('materialized')))
})

/** The pages of a search from its first one on, and then those of the way back. */
async function browse(reads: Reads, listing: Pick<UserListing, 'term' | 'status' | 'sort'>, size = 50) {
  const page = (place: UserPlace | undefined) => listUserPage(reads, { ...listing, place, size })
  const forwards: UserPage[] = [await page(undefined)]
  for (let next = forwards.at(-1)?.next; next !== undefined; next = forwards.at(-1)?.next) forwards.push(await page(next))
  const back: UserPage[] = []
  for (let previous = forwards.at(-1)?.previous; previous !== undefined; previous = back[0]?.previous) back.unshift(await page(previous))
  return { forwards, back }
}

const emailsOf = (pages: readonly UserPage[]) => pages.flatMap(({ users }) => users.map(({ email }) => email))

test('a search for one or two letters reads a part of the list for each page, says so, and finds everybody page by page', async (t) => {
  const { reads, statements } = await start(t)
  const zoes = Array.from({ length: ZOES }, (_, n) => `zoe${100_001 + n}@example.com`)
  for (const sort of SORTS) {
    const ordered = sort === 'newest' || sort === 'signed-in' ? zoes.toReversed() : zoes
    const { forwards, back } = await browse(reads, { term: 'zo', status: undefined, sort })
    assert.deepEqual(emailsOf(forwards), ordered, sort)
    assert.deepEqual(emailsOf([...back, forwards.at(-1) ?? assert.fail()]), ordered, `${sort}, on the way back`)
    const after = sort === 'email' ? 2000 : 5000
    const stops = forwards.map(({ stopped }) => stopped)
    for (const stopped of stops) assert.deepEqual(stopped ?? { after, isShortTerm: true }, { after, isShortTerm: true })
    assert.equal(stops.filter((stopped) => stopped !== undefined).length, sort === 'email' ? 6 : 2, sort)
    assert.equal(stops.at(-1), undefined, 'the last page has read the rest')
    assert.deepEqual(emailsOf((await browse(reads, { term: '#', status: 'banned', sort })).forwards), [])
  }
  assert.ok(!statements.some((sql) => sql.includes('materialized')))
  for (const sort of SORTS) {
    statements.length = 0
    const { users, stopped } = await listUserPage(reads, { term: 'm', status: undefined, sort, place: undefined, size: 50 })
    assert.deepEqual([users.length, stopped, statements.length], [50, undefined, 1], sort)
  }
})

test('a search for a rare term asks the index at once, and reads nothing of the list', async (t) => {
  const { reads, statements } = await start(t)
  for (const sort of SORTS) {
    statements.length = 0
    for (const term of ['zoe100011', 'zoe100011@example.com', 'zoe100011 exam']) {
      const { users, next, stopped } = await listUserPage(reads, { term, status: undefined, sort, place: undefined, size: 50 })
      assert.deepEqual([users.map(({ email }) => email), next, stopped], [['zoe100011@example.com'], undefined, undefined], term)
    }
    assert.ok(!statements.some((sql) => sql.includes('sort_key')), sort)
  }
})

test('a search with too many matches elsewhere in the list stops as well', async (t) => {
  const { reads, statements } = await start(t)
  const { forwards } = await browse(reads, { term: COMMON_NAME, status: undefined, sort: 'email' }, 1000)
  assert.deepEqual(forwards[0]?.users, [])
  assert.deepEqual(forwards[0]?.stopped, { after: 2000, isShortTerm: false })
  assert.deepEqual(
    emailsOf(forwards),
    Array.from({ length: USERS - FIRST_COMMON + 1 }, (_, n) => `amy${100_000 + FIRST_COMMON + n}@example.com`),
  )
  const isWalk = (sql: string) => sql.includes('as walked')
  assert.equal(statements.filter(isWalk).length, 2, 'only the first page walks through the table, also on the way back')
  assert.ok(!statements.some((sql) => sql.includes('materialized')), 'the index is not read: it would read the entries of all matches')
})

plainTest('SQLite finds a place in the index of each sort and status, and admins in theirs, with a search and without', async (t) => {
  const target = await freshDatabase(t, 'sqlite')
  await migrate(target)
  if (target.kind !== 'sqlite') return assert.fail()
  const connection = new DatabaseSync(target.file)
  t.after(() => connection.close())
  let isAdmins = false
  const reads: Reads = {
    first: async () => undefined,
    async all({ sqliteSql }) {
      const plan = connection.prepare(`explain query plan ${sqliteSql}`).all()
      const how = isAdmins ? /^SCAN users USING INDEX users_admins$/ : /^SEARCH users USING (COVERING )?INDEX \w+ \(/
      assert.ok(
        plan.some(({ detail }) => how.test(String(detail))),
        `${sqliteSql}\n${JSON.stringify(plan)}`,
      )
      // An index of an expression does not have the column that it is computed from.
      const skipsUsers = sqliteSql.includes('offset ?2)') && !sqliteSql.includes('coalesce')
      if (skipsUsers && !isAdmins) assert.match(JSON.stringify(plan), /USING COVERING INDEX/, 'users that are skipped are not read')
      return []
    },
  }
  const listings = (['active', 'unverified', 'banned', 'admin', undefined] as const).flatMap((status) =>
    SORTS.flatMap((sort) => ['', 'm', 'mia'].map((term) => ({ status, sort, term, key: sort === 'email' ? 'mia' : 1 }))),
  )
  for (const { key, ...listing } of listings) {
    isAdmins = listing.status === 'admin'
    for (const direction of ['after', 'before'] as const)
      await listUserPage(reads, { ...listing, place: { direction, key, id: 1 }, size: 50 })
  }
})
