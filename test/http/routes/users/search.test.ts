import assert from 'node:assert/strict'
import { type Actor, admin, keyHolder, member, visitor } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { insertUsers, numberedUsers, type Person } from '../../../support/databases/users.ts'
import { OPERATOR } from '../../../support/http/origins.ts'

type Query = Readonly<Record<string, string | number | boolean>>
type Found = { items: { id: number; first_name: string }[]; total: number; page: number; size: number; pages: number }

function search({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, query: Query | string) {
  const text = typeof query === 'string' ? query : new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  return app.inject({ url: `/users/search?${text}`, headers })
}

/** The first names of the users that a search returns. */
async function found(testApp: TestApp, actor: Actor, query: Query): Promise<string[]> {
  const response = await search(testApp, actor, query)
  assert.equal(response.statusCode, 200, response.body)
  return response.json<Found>().items.map(({ first_name }) => first_name)
}

/** Creates users, and an admin who matches no search of these tests. */
async function withPeople(testApp: TestApp, ...people: Partial<Person>[]): Promise<Actor> {
  const boss = await admin(testApp, { email: 'q@q.qq', firstName: 'Q', lastName: 'Q' })
  const defaults = numberedUsers(people.length).map(({ email }) => ({ email, firstName: 'F', lastName: 'L' }))
  await insertUsers(
    testApp,
    people.map((person, n) => ({ email: '', firstName: '', lastName: '', ...defaults[n], ...person })),
  )
  return boss
}

test('200: a search returns full views, the total and the number of pages', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp, { email: 'mia@example.com' })
  const boss = await admin(testApp)
  await testApp.services.userAdministration.ban(OPERATOR, mia.id)
  for (const sender of [boss, await keyHolder(testApp, boss)]) {
    const response = await search(testApp, sender, { search_term: 'MIA@' })
    const item = {
      id: mia.id,
      email: 'mia@example.com',
      first_name: 'Mia',
      last_name: 'Muster',
      role: 'user',
      banned: true,
      verified: true,
    }
    const body = { items: [item], total: 1, page: 1, size: 50, pages: 1 }
    assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body })
  }
})

test('200: a search without matches has no pages', async (t) => {
  const testApp = await startApp(t)
  const boss = await withPeople(testApp)
  const response = await search(testApp, boss, { search_term: 'nobody', page: 7, size: 10 })
  assert.deepEqual(response.json(), { items: [], total: 0, page: 7, size: 10, pages: 0 })
})

test('200: a term matches a part of any field, or of one given field', async (t) => {
  const testApp = await startApp(t)
  const boss = await withPeople(
    testApp,
    { firstName: 'Annabel', email: 'x1@example.com', lastName: 'Jones' },
    { firstName: 'Bob', email: 'joanna@example.com', lastName: 'Smith' },
    { firstName: 'Carl', email: 'x3@example.com', lastName: 'Hannam' },
  )
  assert.deepEqual(await found(testApp, boss, { search_term: 'anna' }), ['Annabel', 'Bob', 'Carl'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'anna', field: 'all' }), ['Annabel', 'Bob', 'Carl'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'anna', field: 'email' }), ['Bob'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'anna', field: 'first_name' }), ['Annabel'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'anna', field: 'last_name' }), ['Carl'])
  // A match is within one field, not across two.
  assert.deepEqual(await found(testApp, boss, { search_term: 'annabeljones' }), [])
})

test('200: exact_match compares the whole field and ignores case', async (t) => {
  const testApp = await startApp(t)
  const boss = await withPeople(
    testApp,
    { firstName: 'Ann' },
    { firstName: 'ANN' },
    { firstName: 'Anna' },
    { firstName: 'D', lastName: 'aNN' },
  )
  for (const yes of ['true', '1', 'YES', 'on']) {
    assert.deepEqual(await found(testApp, boss, { search_term: 'ann', exact_match: yes }), ['Ann', 'ANN', 'D'])
  }
  assert.deepEqual(await found(testApp, boss, { search_term: 'ann', exact_match: true, field: 'first_name' }), ['Ann', 'ANN'])
  for (const no of ['false', '0', 'No', 'off']) {
    assert.deepEqual(await found(testApp, boss, { search_term: 'ann', exact_match: no }), ['Ann', 'ANN', 'Anna', 'D'])
  }
  assert.deepEqual(await found(testApp, boss, { search_term: 'USER0@EXAMPLE.COM', exact_match: true, field: 'email' }), ['Ann'])
})

test('200: a search ignores case in every script', async (t) => {
  const testApp = await startApp(t)
  const names = ['Ünsal', 'ΟΔΥΣΣΕΎΣ', 'Юлия', 'Ẽ', '𐐔𐐯𐑅', '東京太郎']
  const boss = await withPeople(testApp, ...names.map((firstName) => ({ firstName })))
  const pairs = [
    ['ÜNS', 'Ünsal'],
    ['οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
    ['ύσ', 'ΟΔΥΣΣΕΎΣ'],
    ['юЛИ', 'Юлия'],
    ['ẽ', 'Ẽ'],
    ['𐐼𐐯𐑅', '𐐔𐐯𐑅'],
    ['京太', '東京太郎'],
    ['東京太郎', '東京太郎'],
  ] as const
  for (const [term, name] of pairs) assert.deepEqual(await found(testApp, boss, { search_term: term }), [name])
})

test('200: wildcards, quotes and operators are ordinary characters', async (t) => {
  const testApp = await startApp(t)
  const names = ['100%', 'snake_case', 'back\\slash', `O'Neil "Q" OR x`, 'a*b', 'plain', '{email} : x', '- (NEAR) AND']
  const boss = await withPeople(testApp, ...names.map((firstName) => ({ firstName })))
  for (const name of names) {
    assert.deepEqual(await found(testApp, boss, { search_term: name }), [name])
    assert.deepEqual(await found(testApp, boss, { search_term: name, exact_match: true }), [name])
  }
  for (const [term, name] of [
    ['0%', '100%'],
    ['%', '100%'],
    ['_', 'snake_case'],
    ['\\', 'back\\slash'],
    ['"', names[3]],
    ['*', 'a*b'],
  ] as const) {
    assert.deepEqual(await found(testApp, boss, { search_term: term, field: 'first_name' }), [name])
  }
  for (const term of ['%%%', '___', 'p%n', 'pla_n', '"plain"', 'plain*', '^plain', '""']) {
    assert.deepEqual(await found(testApp, boss, { search_term: term, field: 'first_name' }), [])
  }
})

test('200: an empty term matches every user, and white space in a term is significant', async (t) => {
  const testApp = await startApp(t)
  const boss = await withPeople(testApp, { firstName: 'Ada Eve' }, { firstName: 'Adaeve' })
  assert.deepEqual(await found(testApp, boss, { search_term: '' }), ['Q', 'Ada Eve', 'Adaeve'])
  assert.deepEqual(await found(testApp, boss, { search_term: '', exact_match: true, field: 'email' }), ['Q', 'Ada Eve', 'Adaeve'])
  assert.deepEqual(await found(testApp, boss, { search_term: ' ' }), ['Ada Eve'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'da ev' }), ['Ada Eve'])
})

test('200: pages are in order of id, and a page past the end is empty', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const ids = await insertUsers(testApp, numberedUsers(120))
  for (const [term, matching] of [
    ['user', ids],
    ['', [boss.id, ...ids]],
  ] as const) {
    const total = matching.length
    for (const page of [1, 2, 3, 4, 1000]) {
      const response = await search(testApp, boss, { search_term: term, field: 'email', page, size: 50 })
      const { items, ...rest } = response.json<Found>()
      assert.deepEqual(rest, { total, page, size: 50, pages: 3 })
      assert.deepEqual(
        items.map(({ id }) => id),
        matching.slice((page - 1) * 50, page * 50),
      )
    }
  }
  const first = (await search(testApp, boss, { search_term: 'user' })).json<Found>()
  assert.deepEqual([first.page, first.size, first.items.length], [1, 50, 50])
  const largest = (await search(testApp, boss, { search_term: 'user', size: 100 })).json<Found>()
  assert.deepEqual([largest.items.length, largest.pages], [100, 2])
  for (const page of ['9007199254740991', '9007199254740993', '9'.repeat(400)]) {
    const { statusCode, body } = await search(testApp, boss, { search_term: 'user', page, size: 100 })
    // Compared as text, because JavaScript numbers cannot represent all of these.
    assert.deepEqual([statusCode, body], [200, `{"items":[],"total":120,"page":${page},"size":100,"pages":2}`])
  }
})

test('200: a term that most users match returns the same pages as any other term', async (t) => {
  const testApp = await startApp(t)
  const boss = await withPeople(testApp)
  // Among the first 1,000 users, 500 matches make a term common; the user before them does not match.
  const ids = await insertUsers(testApp, numberedUsers(520))
  for (const [term, field] of [
    ['USER', 'email'],
    ['st', 'all'],
  ] as const) {
    for (const page of [1, 6, 7]) {
      const { items, ...rest } = (await search(testApp, boss, { search_term: term, field, page, size: 100 })).json<Found>()
      assert.deepEqual(rest, { total: 520, page, size: 100, pages: 6 })
      assert.deepEqual(
        items.map(({ id }) => id),
        ids.slice((page - 1) * 100, page * 100),
      )
    }
  }
})

test('200: a search reflects edits and deletions', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const mia = await member(testApp, { firstName: 'Before' })
  await testApp.services.users.edit(OPERATOR, mia.id, { firstName: 'AFTER', email: 'After@example.com' })
  assert.deepEqual(await found(testApp, boss, { search_term: 'before' }), [])
  assert.deepEqual(await found(testApp, boss, { search_term: 'after', field: 'first_name' }), ['AFTER'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'after@', field: 'email' }), ['AFTER'])
  await testApp.services.users.edit(OPERATOR, mia.id, { lastName: 'Later' })
  assert.deepEqual(await found(testApp, boss, { search_term: 'after' }), ['AFTER'])
  assert.deepEqual(await found(testApp, boss, { search_term: 'muster', exact_match: true }), ['Mia'])
  await testApp.services.userAdministration.remove(OPERATOR, mia.id)
  assert.deepEqual(await found(testApp, boss, { search_term: 'after' }), [])
})

test('401, 403: a client without credentials and a user cannot search, with a valid or an invalid query', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  for (const query of [{ search_term: 'x' }, { page: 'x' }]) {
    refused(await search(testApp, visitor, query), 401, 'Not authenticated. Use either JWT token or API key.')
    refused(await search(testApp, mia, query), 403, 'Not enough permissions')
  }
})

test('422: every invalid parameter is reported', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const at = (name: string, type: string) => ({ loc: ['query', name], type })
  const rows: [string, ...{ loc: string[]; type: string }[]][] = [
    ['', at('search_term', 'missing')],
    [`search_term=${'x'.repeat(257)}`, at('search_term', 'string_too_long')],
    ['search_term=a%00b', at('search_term', 'value_error')],
    ['search_term=a%0Ab', at('search_term', 'value_error')],
    ['search_term=a&search_term=b', at('search_term', 'value_error')],
    ['search_term=a&field=', at('field', 'enum')],
    ['search_term=a&field=password', at('field', 'enum')],
    ['search_term=a&field=ALL', at('field', 'enum')],
    ['search_term=a&field=constructor', at('field', 'enum')],
    ['search_term=a&field=email&field=all', at('field', 'value_error')],
    ['search_term=a&exact_match=', at('exact_match', 'bool_parsing')],
    ['search_term=a&exact_match=2', at('exact_match', 'bool_parsing')],
    ['search_term=a&exact_match=truee', at('exact_match', 'bool_parsing')],
    ...['', 'x', '1.0', '1e1', '0x1', '%2B1', '-1', '%201', 'null'].flatMap((bad): [string, { loc: string[]; type: string }][] => [
      [`search_term=a&page=${bad}`, at('page', 'int_parsing')],
      [`search_term=a&size=${bad}`, at('size', 'int_parsing')],
    ]),
    ['search_term=a&page=0', at('page', 'greater_than_equal')],
    ['search_term=a&size=0', at('size', 'greater_than_equal')],
    ['search_term=a&size=101', at('size', 'less_than_equal')],
    [`search_term=a&size=${'9'.repeat(30)}`, at('size', 'less_than_equal')],
    ['page=0&size=101', at('search_term', 'missing'), at('page', 'greater_than_equal'), at('size', 'less_than_equal')],
  ]
  for (const [query, ...issues] of rows) invalid(await search(testApp, boss, query), ...issues)
})

test('200: a term may have 256 code points', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  assert.deepEqual(await found(testApp, boss, { search_term: '𝄞'.repeat(256) }), [])
})

test('503: search is unavailable during a database outage', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  await testApp.db.close()
  refused(await search(testApp, boss, { search_term: 'x' }), 503, 'Service Unavailable')
})
