import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as plainTest } from 'node:test'
import postgres from 'postgres'
import type { SearchField } from '../../../../src/model/user.ts'
import type { Database, Statement } from '../../../../src/storage/database.ts'
import { openDatabase } from '../../../../src/storage/open.ts'
import { listUserPage } from '../../../../src/storage/repositories/users/user-list.repository.ts'
import { searchUsers } from '../../../../src/storage/repositories/users/user-search.repository.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { freshDatabase, test } from '../../../support/databases/databases.ts'
import { insertUsers, numberedUsers, type Person } from '../../../support/databases/users.ts'
import { OPERATOR } from '../../../support/http/origins.ts'

// A term that matches half of the sample of 1000 users is searched with a scan.
const COMMON = 500
const CROWD_SIZE = 1100
const GROUP_SIZE = 220

/** People of whom the first `hits` contain the term in one of their fields, in turn, and so do a few of the last. */
function crowdWith(term: string, hits: number): Person[] {
  return numberedUsers(CROWD_SIZE).map((person, n) => {
    if (n >= hits && n < CROWD_SIZE - 7) return person
    const email = `${term}${n}@example.net`
    return (
      [
        { ...person, email },
        { ...person, firstName: `A ${term.toUpperCase()}` },
        { ...person, lastName: `${term} B` },
      ][n % 3] ?? person
    )
  })
}

/** Inserts in batches, because one transaction for all of them could exceed its deadline. */
async function gather(testApp: TestApp, people: readonly Person[]): Promise<number[]> {
  const ids: number[] = []
  for (let from = 0; from < people.length; from += GROUP_SIZE)
    ids.push(...(await insertUsers(testApp, people.slice(from, from + GROUP_SIZE))))
  return ids
}

/** Records the statements that run from now on. */
function watched(db: Database): Statement<unknown>[] {
  const statements: Statement<unknown>[] = []
  const { all } = db.lists
  db.lists.all = (statement, ...values) => {
    statements.push(statement)
    return all(statement, ...values)
  }
  return statements
}

function positionsOf(people: readonly Person[], term: string, field: SearchField): number[] {
  return people.flatMap(({ email, firstName, lastName }, position) => {
    const texts = { all: [email, firstName, lastName], email: [email], firstName: [firstName], lastName: [lastName] }[field]
    return texts.some((text) => text.toLowerCase().includes(term)) ? [position] : []
  })
}

async function assertFound({ services }: TestApp, ids: readonly number[], people: readonly Person[], term: string): Promise<void> {
  for (const field of ['all', 'email', 'firstName', 'lastName'] as const) {
    const expected = positionsOf(people, term, field)
    for (const page of [1, 2, 3, Math.ceil(expected.length / 50), 1000]) {
      const { total, users } = await services.userAdministration.search({ term, field, isExact: false, page, size: 50 })
      const positions = users.map(({ id }) => ids.indexOf(id))
      assert.deepEqual({ total, positions }, { total: expected.length, positions: expected.slice((page - 1) * 50, page * 50) })
    }
  }
}

test('a search returns the same users whether it uses the index or a scan', async (t) => {
  for (const term of ['zqx', 'zq', 'z%_']) {
    const plans: Statement<unknown>[] = []
    for (const hits of [COMMON - 1, COMMON]) {
      const testApp = await startApp(t)
      const people = crowdWith(term, hits)
      const ids = await gather(testApp, people)
      const statements = watched(testApp.db)
      await assertFound(testApp, ids, people, term)
      assert.ok(statements[0])
      plans.push(statements[0])
    }
    assert.notEqual(plans[0], plans[1], `${term}: both searches use the same plan`)
  }
})

test('a misleading sample does not change the result: the first users match and the rest do not', async (t) => {
  const testApp = await startApp(t)
  const people = numberedUsers(CROWD_SIZE).map((person, n) => (n < COMMON ? { ...person, lastName: 'Zqx' } : person))
  const ids = await gather(testApp, people)
  for (const id of ids.slice(COMMON - 100, COMMON)) await testApp.services.userAdministration.remove(OPERATOR, id)
  const { total, users } = await testApp.services.userAdministration.search({
    term: 'zqx',
    field: 'all',
    isExact: false,
    page: 4,
    size: 100,
  })
  assert.deepEqual({ total, ids: users.map(({ id }) => id) }, { total: 400, ids: ids.slice(300, 400) })
})

// From more than 200 users on, who share the end of the local part, the index is asked for the whole address.
for (const sharers of [200, 201]) {
  test(`a search for an address finds the same users as a plain filter, if ${sharers} addresses end alike before the @`, async (t) => {
    const testApp = await startApp(t)
    const domains = Array.from({ length: sharers }, (_, n) => `d${n}.example`)
    const shared = (place: number, domain: string) => `${['', 'it.', 'é'][place % 3]}support@${domain}`
    const people = [
      ...numberedUsers(600),
      ...numberedUsers(sharers).map((person, n) => ({ ...person, email: shared(n, domains[n] ?? '') })),
      ...numberedUsers(3).map((person, n) => ({
        ...person,
        email: `named${n}@example.net`,
        firstName: 'Support@D7.example',
        lastName: 'a@b@c',
      })),
    ]
    const ids = await gather(testApp, people)
    const terms = [
      'support@d7.example',
      'upport@d7.e',
      't.support@d1',
      'ésupport@d',
      'rt@d19',
      'support@',
      'it.support@d%',
      'a@b',
      'b@c',
      '"ort@d7',
      'ss@d7',
    ]
    for (const term of terms) {
      await assertFound(testApp, ids, people, term)
      const listing = { term: term.toUpperCase(), status: undefined, sort: 'oldest', place: undefined, size: 1000 } as const
      const { users } = await listUserPage(testApp.db.lists, listing)
      const positions = users.map(({ id }) => ids.indexOf(id)).toSorted((one, other) => one - other)
      assert.deepEqual(positions, positionsOf(people, term, 'all'), term)
    }
  })
}

plainTest('SQLite finds an address by the end of its local part, because many users may share its domain', async (t) => {
  const testApp = await startApp(t, { database: 'sqlite' })
  await gather(testApp, numberedUsers(3))
  const statements = watched(testApp.db)
  await searchUsers(testApp.db.lists, { term: 'mia7@example.com', field: 'all', isExact: false, page: 1, size: 50 })
  assert.match(statements.at(-1)?.sqliteSql ?? '', /candidates as materialized/)
})

const MIGRATION = new URL('../../../../migrations/postgres/0016-address-search.sql', import.meta.url)
const NAMESAKES = `
  insert into users (email, email_key, password_hash, first_name, last_name, first_name_folded, last_name_folded, role, created_at)
  select email, email, 'hash', 'Mia', 'Muster', 'mia', 'muster', 'user', 1
  from (select 'mia.muster' || n || '@example.com' as email from generate_series(1, 20000) as n) as namesakes;
  drop index users_search_by_local_part`
const LARGE_TABLE = 'set enable_seqscan = off; set enable_indexscan = off'

plainTest('PostgreSQL finds an address by its local part, because many users may share all parts of it', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const sql = postgres(target.setting, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end())
  await sql.unsafe(NAMESAKES).simple()
  // As in a database that is upgraded: nothing but the migration analyses the table.
  await sql.unsafe(readFileSync(MIGRATION, 'utf8')).simple()
  const statistics = await sql`select from pg_stats where tablename = 'users_search_by_local_part'`
  assert.equal(statistics.length, 1, 'without statistics, the index is not chosen among many users')
  // Reading the whole table is slower only if there are many more users.
  await sql.unsafe(LARGE_TABLE).simple()
  const db = await openDatabase(target)
  t.after(() => db.close())
  const statements = watched(db)
  for (const field of ['all', 'email'] as const) {
    const term = 'Muster14000@exa'
    const { users } = await searchUsers(db.lists, { term, field, isExact: false, page: 1, size: 50 })
    assert.deepEqual(
      users.map(({ email }) => email),
      ['mia.muster14000@example.com'],
    )
    const plan = await sql.unsafe(`explain ${statements.at(-1)?.sql}`, [term.toLowerCase(), 50, 0])
    assert.match(JSON.stringify(plan), /users_search_by_local_part/, field)
  }
})
