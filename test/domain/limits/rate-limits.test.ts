import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import fc from 'fast-check'
import { createKnownNetworks, networkOf } from '../../../src/domain/limits/known-networks.ts'
import { createLimiter, type Limiter } from '../../../src/domain/limits/rate-limits.service.ts'
import { createHousekeeping } from '../../../src/domain/operations/housekeeping.ts'
import { NO_OBSERVER } from '../../../src/domain/operations/observer.ts'
import { parseRateLimits, type RateLimits } from '../../../src/domain/values/rate-limits.ts'
import type { Origin } from '../../../src/model/caller.ts'
import { Abandoned, Refusal, type RefusalCode, TooManyRequests } from '../../../src/model/refusal.ts'
import { createLimitKeys } from '../../../src/security/derived-keys.ts'
import { createPasswordQueue } from '../../../src/security/password-queue.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { startApp, TEST_SECRET } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const ROWS = statement<{ key: string; free_at: number }>('select key, free_at from rate_limits')
const ADD_FREE = statement(`
  insert into rate_limits (key, free_at)
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $1)
  select 'old ' || cast(n as text), cast($2 as bigint) from numbers`)

function limitsOf(text: string): RateLimits {
  const parsed = parseRateLimits(text)
  return 'value' in parsed ? parsed.value : assert.fail(parsed.problems.join('\n'))
}

function limiterOf(db: Database, now: () => number, text: string): Limiter {
  const keyOf = createLimitKeys([new TextEncoder().encode(TEST_SECRET)])
  const known = createKnownNetworks({ db, keyOf, now })
  return createLimiter({ db, rules: [{ limits: limitsOf(text), keyOf }], known, observer: NO_OBSERVER, now })
}

function from(ip: string): Origin {
  return { via: 'http', ip }
}

/** The seconds after which the request would pass, or 0 if it passed. */
async function attempt(work: Promise<unknown>): Promise<number> {
  try {
    await work
    return 0
  } catch (error) {
    if (error instanceof TooManyRequests) return error.retryAfterSeconds
    throw error
  }
}

test('of 100 requests at once over two connections to the database, exactly the limit passes', async (t) => {
  const { db, config, clock } = await startApp(t)
  const other = await openDatabase(config.database)
  t.after(() => other.close())
  const limiters = [limiterOf(db, clock.now, 'login:ip=7/m'), limiterOf(other, clock.now, 'login:ip=7/m')]
  const waits = await Promise.all(
    Array.from({ length: 100 }, (_, place) => attempt((limiters[place % 2] ?? assert.fail()).countAddress('login:ip', '192.0.2.1'))),
  )
  assert.equal(waits.filter((seconds) => seconds === 0).length, 7)
  // One of seven places becomes free after 60 / 7 = 8.57 seconds.
  assert.deepEqual([...new Set(waits)].sort(), [0, 9])
})

test('a request that waited for the database is counted at the time when it arrives there, not refused because of later ones', async (t) => {
  const { db, clock } = await startApp(t)
  const later = limiterOf(db, clock.now, 'login:ip=2/s')
  let isWaiting = true
  const slow: Database = {
    ...db,
    async first(query, ...values) {
      if (isWaiting) {
        isWaiting = false
        clock.advance({ seconds: 3 })
        await later.countAddress('login:ip', '192.0.2.1')
      }
      return db.first(query, ...values)
    },
  }
  const limiter = limiterOf(slow, clock.now, 'login:ip=2/s')
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 0)
  assert.equal(isWaiting, false)
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 1)
})

test('limits do what a plain model of them does, at any times', async (t) => {
  const { db } = await startApp(t)
  let round = 0
  const requests = fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.constantFrom('s', 'm'), requests, async (count, unit, pausesMs) => {
      const ip = `2001:db8:0:${(round++).toString(16)}::1`
      let now = 1_800_000_000_000
      const limiter = limiterOf(db, () => now, `refresh:ip=${count}/${unit}`)
      // A bucket of `count` tokens that is filled at an even rate. Whole microseconds, as in the service.
      const interval = Math.ceil((unit === 's' ? 1_000_000 : 60_000_000) / count)
      let level = count * interval
      for (const pauseMs of pausesMs) {
        now += pauseMs
        level = Math.min(count * interval, level + pauseMs * 1000)
        const expected = level >= interval ? 0 : Math.ceil((interval - level) / 1_000_000)
        assert.equal(await attempt(limiter.countAddress('refresh:ip', ip)), expected)
        if (expected === 0) level -= interval
      }
    }),
    { numRuns: t.database === 'sqlite' ? 200 : 40 },
  )
})

test('Retry-After is true: a second earlier the request is refused, then it passes', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'mail:account=2/h')
  const ask = () => attempt(limiter.countAccount('mail:account', 'Mia@example.com', '192.0.2.1'))
  assert.deepEqual([await ask(), await ask(), await ask()], [0, 0, 1800])
  clock.advance({ seconds: 1799 })
  assert.equal(await ask(), 1)
  clock.advance({ seconds: 1 })
  assert.deepEqual([await ask(), await ask()], [0, 1800])
})

test('a clock that is set back does not refuse anybody for longer than the limit itself', async (t) => {
  const { db, clock } = await startApp(t)
  let now = clock.now() + 3 * 24 * 3600_000
  const limiter = limiterOf(db, () => now, 'login:ip=2/m')
  const ask = () => attempt(limiter.countAddress('login:ip', '192.0.2.1'))
  assert.deepEqual([await ask(), await ask(), await ask()], [0, 0, 30])
  now = clock.now()
  assert.deepEqual([await ask(), await ask(), await ask()], [0, 0, 30])
})

test('an account is limited over all networks, and apart from these on a network that it was used from', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:account=2/h')
  const guess = (ip: string) => attempt(limiter.countAccount('login:account', 'mia@example.com', ip))
  await limiter.recognise('MIA@example.com', '198.51.100.7')
  assert.deepEqual([await guess('192.0.2.1'), await guess('192.0.2.2'), await guess('192.0.2.3')], [0, 0, 1800])
  assert.deepEqual([await guess('198.51.100.7'), await guess('198.51.100.7'), await guess('198.51.100.7')], [0, 0, 1800])
  clock.advance({ days: 31 })
  assert.deepEqual([await guess('192.0.2.1'), await guess('192.0.2.1'), await guess('198.51.100.7')], [0, 0, 1800])
})

test('without limits, only the first login of a day from a network needs the database', async (t) => {
  const { db, clock } = await startApp(t)
  const statements = { reads: 0, writes: 0 }
  const counting: Database = {
    ...db,
    first(...query) {
      statements.reads++
      return db.first(...query)
    },
    run(...query) {
      statements.writes++
      return db.run(...query)
    },
  }
  const [limiter, ofOtherProcess] = [limiterOf(counting, clock.now, 'off'), limiterOf(counting, clock.now, 'off')]
  const logIn = async (by: Limiter, email: string, ip: string) => {
    Object.assign(statements, { reads: 0, writes: 0 })
    await by.recognise(email, ip)
    return { ...statements }
  }
  assert.deepEqual(await logIn(limiter, 'mia@example.com', '192.0.2.1'), { reads: 1, writes: 1 })
  assert.deepEqual(await logIn(limiter, 'Mia@example.com', '192.0.2.1'), { reads: 0, writes: 0 })
  assert.deepEqual(await logIn(limiter, 'mia@example.com', '192.0.2.2'), { reads: 1, writes: 1 })
  assert.deepEqual(await logIn(limiter, 'ann@example.com', '192.0.2.1'), { reads: 1, writes: 1 })
  assert.deepEqual(await logIn(ofOtherProcess, 'mia@example.com', '192.0.2.1'), { reads: 1, writes: 0 })
  assert.deepEqual(await logIn(ofOtherProcess, 'mia@example.com', '192.0.2.1'), { reads: 0, writes: 0 })
  clock.advance({ hours: 25 })
  assert.deepEqual(await logIn(limiter, 'mia@example.com', '192.0.2.1'), { reads: 1, writes: 1 })
  // Known for 30 days since then, and a network without that login is not.
  clock.advance({ days: 29, hours: 12 })
  const limited = limiterOf(db, clock.now, 'login:account=1/h')
  const guess = (ip: string) => attempt(limited.countAccount('login:account', 'mia@example.com', ip))
  assert.deepEqual([await guess('192.0.2.2'), await guess('192.0.2.3'), await guess('192.0.2.1')], [0, 3600, 0])
})

test('a successful login does not count', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:ip=2/h,login:account=2/h')
  for (let round = 0; round < 10; round++) {
    await limiter.attempt('mia@example.com', from('192.0.2.1'), async () => undefined)
    const places = [
      await limiter.countAddress('login:ip', '192.0.2.1'),
      await limiter.countAccount('login:account', 'mia@example.com', '192.0.2.1'),
    ]
    await limiter.settle(places, from('192.0.2.1'), async () => undefined)
  }
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 0)
})

test('a login counts if its password was compared and refused, and not if it failed for another reason before anything was hashed', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:ip=2/h,login:account=2/h')
  const fail = (error: Error, signal?: AbortSignal) => async (email: string) => {
    const work = limiter.attempt(email, { ...from('192.0.2.1'), signal }, () => Promise.reject(error))
    await assert.rejects(work, (thrown) => thrown === error || thrown instanceof TooManyRequests)
  }
  const refusal = (code: RefusalCode) => new Refusal(code)
  const deadline = AbortSignal.abort(refusal('unavailable'))
  for (const failed of [
    fail(refusal('unavailable')),
    fail(refusal('no_session')),
    fail(new Error('a bug')),
    fail(new Abandoned(), deadline),
  ])
    for (let round = 0; round < 3; round++) await failed('mia@example.com')
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 0)
  clock.advance({ hours: 2 })
  // A client that disconnects has had a password hashed.
  const guesses = [
    fail(refusal('wrong_credentials')),
    fail(refusal('login_banned')),
    fail(refusal('login_unverified')),
    fail(new Abandoned(), AbortSignal.abort()),
  ]
  for (const guess of guesses) {
    for (let round = 0; round < 3; round++) await guess('mia@example.com')
    assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 1800)
    clock.advance({ hours: 2 })
  }
})

test('a login for which a password was hashed counts, also if its deadline passes meanwhile; one that only waited in the queue does not', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:ip=2/h,login:account=2/h')
  const queue = createPasswordQueue(1, 1000)
  const hashed = Promise.withResolvers<void>()
  const deadlines = [new AbortController(), new AbortController()]
  const logins = deadlines.map(({ signal }) =>
    limiter.attempt('mia@example.com', { ...from('192.0.2.1'), signal }, () => queue.run(() => hashed.promise, signal)),
  )
  while (queue.waiting() === 0) await new Promise(setImmediate)
  const outcomes = Promise.allSettled(logins)
  for (const deadline of deadlines) deadline.abort(new Refusal('unavailable', 'the request took too long'))
  hashed.resolve()
  assert.ok((await outcomes).every(({ status }) => status === 'rejected'))
  // One of the two places is free again.
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 0)
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 1800)
})

test('a place is given back once, and only what has not become free by itself', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:ip=2/m')
  const take = () => limiter.countAddress('login:ip', '192.0.2.1')
  const first = await take()
  await take()
  await first.giveBack()
  await first.giveBack()
  await take()
  assert.equal(await attempt(take()), 30)
  clock.advance({ minutes: 2 })
  const old = await take()
  clock.advance({ seconds: 30 })
  await take()
  await take()
  // Its place became free after 30 seconds. The two that are taken now belong to others.
  await old.giveBack()
  clock.advance({ seconds: 1 })
  assert.equal(await attempt(take()), 29)
})

test('a request that one of two limits refuses does not count for the other, and waits for the last of them', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:ip=3/m,login:account=1/h')
  const guess = (email: string) =>
    attempt(limiter.attempt(email, from('192.0.2.1'), () => Promise.reject(new Refusal('wrong_credentials'))).catch(ignoreGuess))
  assert.equal(await guess('mia@example.com'), 0)
  for (let round = 0; round < 5; round++) assert.equal(await guess('mia@example.com'), 3600)
  assert.deepEqual([await guess('ann@example.com'), await guess('bob@example.com'), await guess('eve@example.com')], [0, 0, 20])
  assert.equal(await guess('mia@example.com'), 3600)
})

function ignoreGuess(error: unknown): void {
  if (error instanceof TooManyRequests) throw error
}

test('a flood of refused requests reaches the database at most once a second', async (t) => {
  const { db, clock } = await startApp(t)
  let statements = 0
  const counting: Database = {
    ...db,
    first(...query) {
      statements++
      return db.first(...query)
    },
  }
  const limiter = limiterOf(counting, clock.now, 'login:ip=1/h')
  for (let request = 0; request < 1000; request++) await attempt(limiter.countAddress('login:ip', '192.0.2.1'))
  // One that passes, one that is refused, and the time of the refusal.
  assert.equal(statements, 3)
  clock.advance({ seconds: 1 })
  assert.equal(await attempt(limiter.countAddress('login:ip', '192.0.2.1')), 3599)
  assert.equal(statements, 5)
})

test('the database contains no address, and housekeeping removes what no longer counts', async (t) => {
  const { db, clock } = await startApp(t)
  const limiter = limiterOf(db, clock.now, 'login:ip=1/m,login:account=1/m')
  await limiter.attempt('mia@example.com', from('192.0.2.77'), async () => undefined)
  await limiter.recognise('mia@example.com', '192.0.2.77')
  await limiter.countAddress('login:ip', '192.0.2.77')
  await db.run(ADD_FREE, 1234, clock.now() * 1000)
  const rows = (await db.all(ROWS)).filter(({ key }) => !key.startsWith('old '))
  assert.equal(rows.length, 3)
  for (const { key } of rows) assert.match(key, /^[\w-]{32}$/)
  const housekeeping = createHousekeeping(db, clock.now, (error) => assert.fail(String(error)))
  await housekeeping.run()
  assert.equal((await db.all(ROWS)).length, 2)
  clock.advance({ days: 31 })
  await housekeeping.run()
  assert.deepEqual(await db.all(ROWS), [])
})

nodeTest('an address counts as its network: IPv6 by /64, IPv4 however it is written', () => {
  const networks = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::ffff:c000:201': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:DB8:1:2::': '2001:db8:1:2::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    '2001:0db8:0000::ffff:192.0.2.1': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    nonsense: 'unknown',
  }
  for (const [ip, network] of Object.entries(networks)) assert.equal(networkOf(ip), network, ip)
  assert.equal(networkOf(undefined), 'unknown')
})
