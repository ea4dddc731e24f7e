import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { UserListing, UserPlace } from '../../../../src/model/user.ts'
import { type Reads, statement } from '../../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../../src/storage/open.ts'
import { listUserPage } from '../../../../src/storage/repositories/accounts/user-list.repository.ts'
import { type DatabaseKind, freshDatabase, test } from '../../../support/databases/databases.ts'

const USERS = 12_000
const BATCH_SIZE = 500
// The last ones by address, who are also the oldest, are called Zoe; every tenth user is banned.
const ZOES = 120
const FILL = statement(`
  insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, verified, banned, created_at)
  with recursive numbers (n) as (select cast($1 as bigint) union all select n + 1 from numbers where n < $2)
  select name || (100000 + n) || '@example.com', name || (100000 + n) || '@example.com', '!', name, name, 'x', 'x', 'user', true, n % 10 = 0, n * 1000
  from (select n, case when n <= ${ZOES} then 'zoe' else 'amy' end as name from numbers) as named`)

/** A database with many users, and the names of the searches that were made in it. */
async function start(t: TestContext & { database: DatabaseKind }) {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  // A single statement could take longer than the service waits.
  for (let n = 0; n < USERS; n += BATCH_SIZE) await db.run(FILL, n + 1, n + BATCH_SIZE)
  const statements: string[] = []
  const reads: Reads = {
    first(read, ...values) {
      statements.push(read.sql)
      return db.first(read, ...values)
    },
    all(read, ...values) {
      statements.push(read.sql)
      return db.all(read, ...values)
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
  for (const sort of ['newest', 'oldest', 'email', 'signed-in'] as const) {
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
  for (const sort of ['newest', 'oldest', 'email', 'signed-in'] as const) {
    const { users, next } = await listUserPage(reads, { term: 'amy', status: undefined, sort, place: undefined, size: 50 })
    assert.deepEqual([users.length, next?.direction], [50, 'after'])
  }
  assert.ok(!statements.some((sql) => sql.includes('materialized')))
})
