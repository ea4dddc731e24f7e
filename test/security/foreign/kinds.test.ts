import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remainingWork } from '../../../src/security/foreign/equal-work.ts'
import { type HashCost, MAX_FOREIGN_KINDS } from '../../../src/security/foreign/foreign-hash.ts'
import { describeCost, kindOf, parseKind, roundedKind } from '../../../src/security/foreign/kinds.ts'
import { boundedWork, createForeignKinds } from '../../../src/security/foreign/login-work.ts'

/** A machine that is so fast that only the bounds of the parameters count. */
const FAST = () => 0
const pbkdf2 = (amount: number): HashCost => ({ family: 'pbkdf2-sha256', amount })
const kindsOf = (...costs: HashCost[]) => [...new Set(costs.map(kindOf))]

test('the amount in a kind is the work of the hash or up to a sixteenth more, and exact for bcrypt', () => {
  for (let amount = 1; amount <= 4_000_000; amount += 1 + Math.floor(amount / 50)) {
    const { family, amount: kept } = parseKind(kindOf(pbkdf2(amount)))
    assert.equal(family, 'pbkdf2-sha256')
    assert.ok(kept >= amount && kept <= amount * (1 + 1 / 16), `${amount} became ${kept}`)
  }
  for (let cost = 4; cost <= 14; cost++) assert.equal(kindOf({ family: 'bcrypt', amount: 2 ** cost }), `bcrypt/${2 ** cost}`)
})

test('a number of iterations that each account has chosen within a tenth makes a few kinds', () => {
  const costs = Array.from({ length: 10_000 }, (_, n) => pbkdf2(600_000 + n * 6))
  const kinds = kindsOf(...costs)
  assert.ok(kinds.length <= 4, `${kinds.length} kinds`)
  // Whatever its number of iterations is, an account costs the same as one that does not exist.
  const [nobody] = remainingWork(undefined, boundedWork(kinds, FAST))
  for (const cost of costs.filter((_, n) => n % 997 === 0)) {
    const [rest] = remainingWork(cost, boundedWork(kinds, FAST))
    assert.equal((rest?.amount ?? 0) + cost.amount, nobody?.amount)
  }
})

test('the usual costs of all products are admitted together', () => {
  const kinds = createForeignKinds([], FAST)
  const django = [10_000, 12_000, 15_000, 20_000, 24_000, 30_000, 36_000, 100_000, 120_000, 150_000, 180_000, 216_000, 260_000]
  const later = [320_000, 390_000, 480_000, 600_000, 720_000, 870_000, 1_000_000, 1_200_000]
  const usual: HashCost[] = [
    ...[...django, ...later].map(pbkdf2),
    { family: 'pbkdf2-sha512', amount: 210_000 },
    { family: 'pbkdf2-sha1', amount: 20_000 },
    { family: 'bcrypt', amount: 2 ** 10 },
    { family: 'bcrypt', amount: 2 ** 12 },
    { family: 'argon2id 102400 2 8', amount: 1 },
    { family: 'argon2id 65536 3 4', amount: 1 },
    { family: 'argon2id 7168 5 1', amount: 1 },
    { family: 'scrypt 16384 8 5', amount: 1 },
    { family: 'scrypt 16384 8 1', amount: 1 },
    { family: 'scrypt 16384 16 1', amount: 1 },
  ]
  for (const cost of usual) assert.equal(kinds.add(kindOf(cost)), undefined, kindOf(cost))
})

test('the most expensive hashes of two algorithms are admitted together, and no third one; cheaper hashes of both still are', () => {
  const expensive = ['bcrypt/16384', kindOf(pbkdf2(4_000_000)), 'scrypt 262144 8 1/1', 'argon2id 262144 4 1/1', 'pbkdf2-sha512/1507328']
  for (const first of expensive)
    for (const second of expensive.filter((kind) => kind !== first)) {
      const kinds = createForeignKinds([first, second], FAST)
      assert.deepEqual([first, second].map(kinds.add), [undefined, undefined], `${first} and ${second}`)
      for (const third of expensive)
        assert.equal(kinds.add(third) === undefined, third === first || third === second, `${third} after ${first}, ${second}`)
    }
  const full = createForeignKinds(['bcrypt/16384', kindOf(pbkdf2(4_000_000))], FAST)
  assert.deepEqual(['bcrypt/1024', kindOf(pbkdf2(600_000))].map(full.add), [undefined, undefined])
})

test('however cheap they are, no more kinds are admitted than a login lists', () => {
  const kinds = createForeignKinds([], FAST)
  const many = Array.from({ length: 5000 }, (_, n) => `argon2id ${n + 8} 1 1/1`)
  assert.equal(many.filter((kind) => kinds.add(kind) === undefined).length, MAX_FOREIGN_KINDS)
  assert.equal(kinds.add(many[0] ?? ''), undefined)
  assert.equal(kinds.add('bcrypt/16'), 'accounts have hashes of too many other costs, all of which each login has to compute')
})

test('a login computes no kinds beyond the bounds, which only a row that was changed by hand has', () => {
  const many = Array.from({ length: 5000 }, (_, n) => `argon2id ${n + 8} 1 1/1`)
  assert.equal(boundedWork(many, FAST).size, MAX_FOREIGN_KINDS)
  const huge = ['argon2id 99999999 99 1/1', 'bcrypt/16', 'pbkdf2-sha256/1e300', 'pbkdf2-sha512/Infinity', 'scrypt 1073741824 8 1/1']
  assert.deepEqual([...boundedWork(huge, FAST)], [['bcrypt', 16]])
  // A kind that nothing computes costs nothing, and does not keep others out.
  assert.deepEqual([...boundedWork(['bcrypt/x', 'unknown/9', 'bcrypt/16384'], FAST)], [['bcrypt', 16_384]])
})

test('a kind that release 0.8.0 has stored with its exact amount is rounded, and nothing else is', () => {
  assert.equal(roundedKind('pbkdf2-sha256/600001'), kindOf(pbkdf2(600_001)))
  for (const kind of ['bcrypt/1024', 'scrypt 16384 8 1/1', 'bcrypt/x', 'bcrypt/0', 'pbkdf2-sha256/1e300', 'pbkdf2-sha256/1.5', 'unknown'])
    assert.equal(roundedKind(kind), kind)
})

test('of many kinds that release 0.8.0 has stored, a login computes the most expensive of each family', () => {
  const exact = Array.from({ length: 900 }, (_, n) => `pbkdf2-sha256/${600_000 + n}`)
  const kinds = ['bcrypt/1024', ...exact, 'pbkdf2-sha256/99999', 'pbkdf2-sha512/210000', 'scrypt 16384 8 1/1']
  const expected = ['bcrypt/1024', kindOf(pbkdf2(600_899)), 'pbkdf2-sha512/212992', 'scrypt 16384 8 1/1']
  assert.deepEqual([...boundedWork(kinds, FAST)].map(([family, amount]) => `${family}/${amount}`).sort(), expected)
})

test('kinds that release 0.8.0 has stored do not keep an import from bringing others', () => {
  const kinds = createForeignKinds(
    Array.from({ length: 900 }, (_, n) => `pbkdf2-sha256/${600_000 + n}`),
    FAST,
  )
  assert.deepEqual(['bcrypt/1024', kindOf(pbkdf2(600_500))].map(kinds.add), [undefined, undefined])
})

test('the cost of a hash is described with the parameters that its product has', () => {
  const kinds = ['bcrypt/4096', 'pbkdf2-sha512/212992', 'scrypt 16384 8 1/1', 'argon2id 65536 3 4/1']
  assert.deepEqual(kinds.map(parseKind).map(describeCost), [
    'bcrypt 12',
    'pbkdf2-sha512 with 212992 iterations',
    'scrypt N=16384,r=8,p=1',
    'argon2id m=65536,t=3,p=4',
  ])
})
