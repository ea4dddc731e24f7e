import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMeasuredWork, measureInThread } from '../../../src/security/foreign/equal-work.ts'
import { kindOf } from '../../../src/security/foreign/kinds.ts'
import { boundedWork, createForeignKinds, decideKinds, MAX_COMPUTED_MS, OWN_FAMILY } from '../../../src/security/foreign/login-work.ts'
import { createMeasurements, measureUnitMs } from '../../../src/security/foreign/measure.ts'

const [ARGON2, SCRYPT] = ['argon2id 262144 1 1', 'scrypt 16384 8 1']

/** A machine on which bcrypt 10 takes 60 ms, and an own hash 20 ms. */
const UNITS: Readonly<Record<string, number>> = {
  bcrypt: 60 / 1024,
  'pbkdf2-sha256': 0.001,
  [ARGON2]: 400,
  [SCRYPT]: 50,
  [OWN_FAMILY]: 20,
}
const unitMs = (family: string) => UNITS[family] ?? assert.fail(family)

test('an import accepts hashes until a login would cost half a second, with its own two hashes and everything that accounts have', () => {
  const kinds = createForeignKinds(['bcrypt/1024'], unitMs)
  assert.equal(kinds.add(`${SCRYPT}/1`), undefined)
  // 40 + 60 + 50 are spent: 350 ms are left.
  assert.equal(kinds.add(kindOf({ family: 'pbkdf2-sha256', amount: 344_064 })), undefined)
  assert.equal(
    kinds.add('bcrypt/2048'),
    'bcrypt 11 takes 120 ms on this machine, and each login would cost 555 ms of one core; at most 500 ms are accepted',
  )
  assert.equal(
    kinds.add(`${ARGON2}/1`),
    'argon2id m=262144,t=1,p=1 takes 400 ms on this machine, and each login would cost 895 ms of one core; at most 500 ms are accepted',
  )
  // Hashes that are not more expensive than those of other accounts add no work.
  assert.deepEqual(['bcrypt/1024', 'bcrypt/16', `${SCRYPT}/1`, 'pbkdf2-sha256/1024'].map(kinds.add), Array(4).fill(undefined))
})

test('hashes that are too expensive together are rejected in any order, and one that is too expensive alone is rejected first', () => {
  for (const [first, second] of [
    [`${ARGON2}/1`, 'bcrypt/2048'],
    ['bcrypt/2048', `${ARGON2}/1`],
  ] as const) {
    const kinds = createForeignKinds([], unitMs)
    assert.equal(kinds.add(first), undefined)
    assert.match(kinds.add(second) ?? '', /each login would cost 560 ms of one core/)
  }
  const kinds = createForeignKinds([], unitMs)
  assert.match(kinds.add('bcrypt/16384') ?? '', /^bcrypt 14 takes 960 ms .* would cost 1000 ms/)
  assert.equal(kinds.add('bcrypt/4096'), undefined)
})

test('a kind that accounts have already is accepted as long as logins compute it, and rejected if they do not', () => {
  // 680 ms: more than an import may bring, and less than a login computes.
  const kinds = createForeignKinds([`${ARGON2}/1`, 'bcrypt/4096', 'bcrypt/16384'], unitMs)
  assert.deepEqual([`${ARGON2}/1`, 'bcrypt/4096'].map(kinds.add), [undefined, undefined])
  assert.match(kinds.add('bcrypt/16384') ?? '', /^bcrypt 14 takes 960 ms/)
  assert.match(kinds.add(`${SCRYPT}/1`) ?? '', /each login would cost 730 ms/)
})

test('an import decides by the number of users that have a kind, in whatever order the file has them', () => {
  const usersByKind: readonly (readonly [string, number])[] = [
    [`${ARGON2}/1`, 1],
    ['bcrypt/1024', 900],
    [`${SCRYPT}/1`, 100],
    ['bcrypt/4096', 2],
    ['bcrypt/16384', 5000],
  ]
  const decided = (accounts: readonly string[], users: typeof usersByKind) => {
    const { add } = decideKinds(accounts, new Map(users), unitMs)
    // Every line asks again.
    for (const [kind] of users) add(kind)
    return usersByKind.filter(([kind]) => add(kind) === undefined).map(([kind]) => kind)
  }
  // 40 + 60 + 50, and 180 more for bcrypt 12. The most frequent kind is too expensive alone, and keeps no others out.
  for (const users of [usersByKind, usersByKind.toReversed()])
    assert.deepEqual(decided([], users), ['bcrypt/1024', `${SCRYPT}/1`, 'bcrypt/4096'])
  // Accounts have the expensive one already: 40 + 400 + 60 fit.
  for (const users of [usersByKind, usersByKind.toReversed()])
    assert.deepEqual(decided([`${ARGON2}/1`], users), [`${ARGON2}/1`, 'bcrypt/1024'])
  // Of kinds with as many users, the cheapest come first.
  const equal = usersByKind.map(([kind]) => [kind, 1] as const)
  for (const users of [equal, equal.toReversed()]) assert.deepEqual(decided([], users), ['bcrypt/1024', `${SCRYPT}/1`, 'bcrypt/4096'])
})

test('a login computes the cheapest kinds up to a bound, whatever the database contains', () => {
  const kinds = ['bcrypt/16384', `${ARGON2}/1`, 'bcrypt/1024', `${SCRYPT}/1`]
  assert.deepEqual(
    new Map(boundedWork(kinds, unitMs)),
    new Map([
      ['bcrypt', 1024],
      [SCRYPT, 1],
      [ARGON2, 1],
    ]),
  )
  const slow = (family: string) => 6 * unitMs(family)
  assert.deepEqual(new Map(boundedWork(kinds, slow)), new Map([['bcrypt', 1024]]))
  assert.deepEqual(new Map(boundedWork(kinds, () => MAX_COMPUTED_MS)), new Map())
})

test('a service measures each family once, also when many logins meet it together, and later ones when they appear', async () => {
  const measured: string[] = []
  const workOf = createMeasuredWork(async (families) => {
    measured.push(...families)
    return new Map(families.map((family) => [family, 2 * unitMs(family)]))
  })
  const works = await Promise.all(Array.from({ length: 20 }, () => workOf(['bcrypt/16384', 'bcrypt/1024'])))
  for (const work of works) assert.deepEqual(new Map(work), new Map([['bcrypt', 1024]]))
  assert.deepEqual(measured, ['bcrypt', OWN_FAMILY])
  assert.deepEqual(new Map(await workOf([`${SCRYPT}/1`])), new Map([[SCRYPT, 1]]))
  assert.deepEqual(measured, ['bcrypt', OWN_FAMILY, SCRYPT])
  assert.deepEqual(new Map(await workOf([])), new Map())
})

test('a service that cannot measure estimates: the most expensive hash that is accepted takes a second', async () => {
  const workOf = createMeasuredWork(() => Promise.reject(new Error('no memory for a thread')))
  assert.deepEqual(new Map(await workOf(['bcrypt/16384', 'bcrypt/4096'])), new Map([['bcrypt', 4096]]))
})

test('an import measures each family once, and stops to measure after 20 seconds', () => {
  const clock = { ms: 0 }
  const measured: string[] = []
  const measure = (family: string) => {
    measured.push(family)
    clock.ms += 9000
    return 1
  }
  const known = createMeasurements(measure, () => clock.ms)
  assert.deepEqual(['a', 'a', 'b', 'c', 'd', 'a'].map(known), [1, 1, 1, 1, Number.POSITIVE_INFINITY, 1])
  assert.deepEqual(measured, ['a', 'b', 'c'])
  const kinds = createForeignKinds([], () => Number.POSITIVE_INFINITY)
  assert.equal(kinds.add('bcrypt/16'), 'accounts have hashes of too many other costs, all of which each login has to compute')
})

test('a family that cannot be measured is estimated, and one with parameters that its library refuses costs nothing', () => {
  // The part of the work that is measured would need less than one block.
  assert.equal(measureUnitMs('scrypt 2 300000 1'), (1000 * 600_000) / 2 ** 21)
  assert.equal(measureUnitMs('scrypt 1000 8 1'), 0)
})

test('a thread that ends without a result is an error', { timeout: 60_000 }, async () => {
  assert.ok(((await measureInThread(['bcrypt'])).get('bcrypt') ?? 0) > 0)
  // The thread measures nothing but a list.
  const nothing = 'bcrypt' as unknown as readonly string[]
  await assert.rejects(measureInThread(nothing), new Error('the thread that measures ended with code 0'))
})

test('the work of every algorithm can be measured, and more work takes longer', () => {
  for (const family of [
    'bcrypt',
    'pbkdf2-sha1',
    'pbkdf2-sha256',
    'pbkdf2-sha512',
    'argon2i 8192 1 1',
    'argon2d 8192 1 16',
    'scrypt 4096 8 1',
  ])
    assert.ok(measureUnitMs(family) > 0, family)
  assert.ok(measureUnitMs('argon2id 65536 16 1') > measureUnitMs('argon2id 8192 1 1'))
  assert.ok(measureUnitMs('scrypt 262144 8 1') > measureUnitMs('scrypt 1024 8 1'))
  // A library refuses the first, and no library has the second.
  assert.deepEqual(
    ['argon2id 1 1 1', 'unknown'].map(measureUnitMs).map((ms) => ms < 1),
    [true, true],
  )
})
