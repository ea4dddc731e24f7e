import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { insertUsers, numberedUsers } from '../../../support/databases/users.ts'
import { signIn, textOf, visit } from '../../../support/http/pages.ts'

const SET = statement('update users set created_at = $2, last_login_at = $3, verified = $4, banned = $5 where id = $1')

/** The addresses of a page, in order, and the links to its neighbours. */
async function readPage({ app }: TestApp, url: string, cookie: string) {
  const response = await app.inject(visit(url, cookie))
  assert.equal(response.statusCode, 200, response.body)
  const emails = [...response.body.matchAll(/<a class="main" href="\/console\/users\/\d+">([^<]*)<\/a>/g)].map(([, email = '']) => email)
  const link = (rel: string) => new RegExp(`rel="${rel}" href="([^"]*)"`).exec(response.body)?.[1]?.replaceAll('&amp;', '&')
  return { emails, next: link('next'), previous: link('prev'), response }
}

/** All pages from a first one on, forwards and then back again. */
async function walk(service: TestApp, url: string, cookie: string): Promise<string[]> {
  const pages: string[][] = []
  let last = await readPage(service, url, cookie)
  for (pages.push(last.emails); last.next !== undefined; pages.push(last.emails)) last = await readPage(service, last.next, cookie)
  const back: string[][] = [last.emails]
  for (; last.previous !== undefined; back.unshift(last.emails)) last = await readPage(service, last.previous, cookie)
  assert.deepEqual(back, pages, `${url}: the way back shows the same pages`)
  return pages.flat()
}

/** 120 users with every status and order, and an admin. */
async function manyUsers(service: TestApp) {
  const boss = await admin(service, { email: 'boss@example.com' })
  const people = numberedUsers(120)
  const ids = await insertUsers(service, people)
  const rows = people.map(({ email }, n) => ({
    id: ids[n] ?? 0,
    email,
    // Several share a moment, and the order of creation is not that of the ids.
    createdAt: 1_000_000 + ((n * 7) % 40) * 1000,
    loginAt: n % 3 === 0 ? null : 2_000_000 + ((n * 11) % 50) * 1000,
    verified: n % 4 !== 0,
    banned: n % 5 === 0,
  }))
  for (const { id, createdAt, loginAt, verified, banned } of rows) await service.db.run(SET, id, createdAt, loginAt, verified, banned)
  const cookie = await signIn(service.app, boss)
  return { rows, cookie, boss }
}

test('200: every sort and every status, page by page in both directions', async (t) => {
  const service = await startApp(t)
  const { rows, cookie, boss } = await manyUsers(service)
  const now = service.clock.now()
  const everyone = [...rows, { id: boss.id, email: boss.email, createdAt: now, loginAt: now, verified: true, banned: false }]
  const statuses: Record<string, (row: (typeof everyone)[number]) => boolean> = {
    '': () => true,
    active: ({ verified, banned }) => verified && !banned,
    unverified: ({ verified }) => !verified,
    banned: ({ banned }) => banned,
    admin: ({ id }) => id === boss.id,
  }
  const sorts: Record<string, (one: (typeof everyone)[number], other: (typeof everyone)[number]) => number> = {
    newest: (one, other) => other.createdAt - one.createdAt || other.id - one.id,
    oldest: (one, other) => one.createdAt - other.createdAt || one.id - other.id,
    email: (one, other) => (one.email < other.email ? -1 : 1),
    'signed-in': (one, other) => (other.loginAt ?? 0) - (one.loginAt ?? 0) || other.id - one.id,
  }
  for (const [status, isListed] of Object.entries(statuses)) {
    for (const [sort, compare] of Object.entries(sorts)) {
      const expected = everyone.filter(isListed).sort(compare)
      const found = await walk(service, `/console/users?status=${status}&sort=${sort}`, cookie)
      assert.deepEqual(
        found,
        expected.map(({ email }) => email),
        `${status} ${sort}`,
      )
    }
  }
  assert.equal((await readPage(service, '/console/users', cookie)).emails[0], boss.email, 'the newest come first')
})

test('200: a search finds parts of names and addresses, with every sort and status', async (t) => {
  const service = await startApp(t)
  const { rows, cookie } = await manyUsers(service)
  await member(service, { email: 'zoe.übel@example.com'.replace('ü', 'u'), firstName: 'Zoë', lastName: 'Übel 50%_"x' })
  const rare = rows.filter(({ email }) => email.includes('user11'))
  assert.deepEqual((await walk(service, '/console/users?q=USER11&sort=email', cookie)).length, rare.length)
  const withOne = rows.filter((_, n) => String(n).includes('1'))
  assert.deepEqual((await walk(service, '/console/users?q=last+1&sort=signed-in', cookie)).length, withOne.length)
  assert.equal((await walk(service, '/console/users?q=example.com&sort=oldest', cookie)).length, 122)
  assert.equal(
    (await walk(service, '/console/users?q=r7&status=banned', cookie)).length,
    rows.filter(({ email, banned }) => banned && email.includes('r7')).length,
  )
  for (const q of ['zoë', 'ÜBEL', '50%', '%_"', 'el 50%_"x']) {
    const { emails } = await readPage(service, `/console/users?${new URLSearchParams({ q })}`, cookie)
    assert.deepEqual(emails, ['zoe.ubel@example.com'], q)
  }
  for (const q of ['nobody has this', '%%%', '___', '"', "'; drop table users; --", '\\']) {
    const { emails, response } = await readPage(service, `/console/users?${new URLSearchParams({ q })}`, cookie)
    assert.ok(emails.length <= 1, q)
    assert.ok(response.body.includes('<input id="q"'))
  }
})

test('200: a search for two letters that stops says so, and leads on and back', async (t) => {
  const service = await startApp(t)
  const people = numberedUsers(2050)
  // A transaction may take only as long as a request.
  for (let n = 0; n < people.length; n += 50) await insertUsers(service, people.slice(n, n + 50))
  const cookie = await signIn(service.app, await admin(service, { email: 'zz@example.com', firstName: 'Ada' }))
  const first = await readPage(service, '/console/users?q=zz&sort=email', cookie)
  assert.match(
    textOf(first.response),
    /Searched 2,000 users of this list, not all of them\. Enter three characters or more to search all users/,
  )
  assert.match(textOf(first.response), /No matching users here Nobody among these 2,000 users matches “zz”\./)
  assert.deepEqual([first.emails, first.previous], [[], undefined])
  const second = await readPage(service, first.next ?? assert.fail(), cookie)
  assert.deepEqual([second.emails, second.next], [['zz@example.com'], undefined])
  assert.doesNotMatch(textOf(second.response), /Searched/)
  const back = await readPage(service, second.previous ?? assert.fail(), cookie)
  assert.deepEqual(back.emails, [])
  assert.match(textOf(back.response), /Searched 2,000 users/)
  assert.deepEqual((await readPage(service, back.next ?? assert.fail(), cookie)).emails, ['zz@example.com'])
  const longer = await readPage(service, '/console/users?q=zz@&sort=email', cookie)
  assert.deepEqual(longer.emails, ['zz@example.com'])
  assert.doesNotMatch(textOf(longer.response), /Searched/)
})

test('200: the list says never, links to each user, and has an empty state', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const { response } = await readPage(service, '/console/users', cookie)
  assert.match(textOf(response), /just now/)
  await member(service, { email: 'new@example.com' })
  assert.match(textOf((await readPage(service, '/console/users?q=new@', cookie)).response), /new@example\.com Mia Muster Active .* never/)
  const none = await readPage(service, '/console/users?status=banned', cookie)
  assert.match(textOf(none.response), /No matching users Nobody has this status/)
  assert.deepEqual([none.next, none.previous], [undefined, undefined])
})

test('200: markup in every field of a user and in every parameter stays text', async (t) => {
  const service = await startApp(t)
  const cookie = await signIn(service.app, await admin(service))
  const markup = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
  await member(service, { email: "o'brien+<b>@example.com".replace('<b>', 'b'), firstName: markup, lastName: markup })
  const urls = [
    '/console/users',
    `/console/users?${new URLSearchParams({ q: markup })}`,
    `/console/users?q=muster&${new URLSearchParams({ x: markup })}`,
  ]
  for (const url of urls) {
    const { body } = await service.app.inject(visit(url, cookie))
    assert.ok(!body.includes('<script>alert') && !body.includes('<img src=x'), url)
  }
  assert.ok((await service.app.inject(visit('/console/users', cookie))).body.includes('&lt;script&gt;alert(1)'))
})

test('200 or 422: a place that cannot be read is the beginning; an unknown status or sort is refused', async (t) => {
  const service = await startApp(t)
  const cookie = await signIn(service.app, await admin(service))
  await member(service)
  const places = [
    '',
    'x',
    'bnVsbA',
    Buffer.from('[1]').toString('base64url'),
    Buffer.from('[{"a":1},2]').toString('base64url'),
    Buffer.from('["\\u0000",1]').toString('base64url'),
    Buffer.from('[1e400,1]').toString('base64url'),
  ]
  for (const place of places) assert.equal((await readPage(service, `/console/users?after=${place}`, cookie)).emails.length, 2, place)
  // A place of another order.
  const other = Buffer.from('["mia",1]').toString('base64url')
  assert.equal((await service.app.inject(visit(`/console/users?sort=newest&after=${other}`, cookie))).statusCode, 200)
  for (const query of ['status=everything', 'sort=id', 'q=a&q=b', 'q=%00', `q=${'x'.repeat(257)}`]) {
    const response = await service.app.inject(visit(`/console/users?${query}`, cookie))
    assert.equal(response.statusCode, 422, query)
    assert.match(String(response.headers['content-type']), /^text\/html/)
  }
})

test('a user who was created by an operator is never signed in until the first login', async (t) => {
  const service = await startApp(t)
  const { id } = await member(service)
  assert.equal((await service.services.userDirectory.find(id)).lastLoginAt, undefined)
})

test('200: the list and the counts come from the replica, a single user from the primary', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const read: string[] = []
  const { all } = service.db.lists
  service.db.lists.all = (statement, ...values) => {
    if (statement.sql.includes('from users')) read.push(statement.sql)
    return all(statement, ...values)
  }
  await readPage(service, '/console/users', cookie)
  // The page, and the counts of its filters.
  assert.equal(read.length, 2)
  await service.app.inject(visit(`/console/users/${boss.id}`, cookie))
  assert.equal(read.length, 2)
  // The counts of the list are kept for a minute.
  service.clock.advance({ minutes: 2 })
  await service.app.inject(visit('/console/', cookie))
  assert.ok(read.length > 2)
})

test('200: a search takes several words, an id and the beginning of a key', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { email: 'mm@example.com', firstName: 'Mia', lastName: 'Moss' })
  await member(service, { email: 'mia@example.com', firstName: 'Mia', lastName: 'Fern' })
  const { key } = await keyHolder(service, mia)
  const cookie = await signIn(service.app, await admin(service, { email: 'zz@example.com' }))
  const find = async (q: string) => (await readPage(service, `/console/users?${new URLSearchParams({ q })}`, cookie)).emails
  for (const q of ['mia moss', 'Moss  mia', 'moss mm@example', String(mia.id), key.slice(0, 10), key.slice(0, 5)])
    assert.deepEqual((await find(q)).includes('mm@example.com'), true, q)
  for (const q of ['mia moss', 'moss example mia']) assert.deepEqual(await find(q), ['mm@example.com'], q)
  assert.deepEqual(await find('mia nobody'), [])
})

test('200: several words are found by the index behind thousands of users', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { email: 'mm@example.com', firstName: 'Mia', lastName: 'Moss' })
  await service.db.run(SET, mia.id, 1, null, true, false)
  const people = numberedUsers(5100)
  for (let n = 0; n < people.length; n += 50) await insertUsers(service, people.slice(n, n + 50))
  const cookie = await signIn(service.app, await admin(service, { email: 'zz@example.com' }))
  const { emails, response } = await readPage(service, '/console/users?q=mia+moss', cookie)
  assert.deepEqual(emails, ['mm@example.com'])
  assert.doesNotMatch(textOf(response), /Searched/)
})

test('200: the filters have counts, and the heads of the columns sort', async (t) => {
  const service = await startApp(t)
  const { cookie } = await manyUsers(service)
  const { response } = await readPage(service, '/console/users?status=banned&sort=newest', cookie)
  assert.match(textOf(response), /All 121 Active \d+ Unverified 30 Banned 24 Admins 1/)
  assert.match(response.body, /<th scope="col" aria-sort="descending"><a href="\/console\/users\?status=banned&amp;sort=oldest">Created/)
  assert.match(response.body, /<th scope="col"><a href="\/console\/users\?status=banned&amp;sort=email">User<\/a>/)
})
