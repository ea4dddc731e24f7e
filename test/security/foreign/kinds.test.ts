import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remainingWork } from '../../../src/security/foreign/equal-work.ts'
import { type HashCost, MAX_FOREIGN_KINDS } from '../../../src/security/foreign/foreign-hash.ts'
import { boundedKinds, createForeignKinds, kindOf, parseKind, roundedKind } from '../../../src/security/foreign/kinds.ts'

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
  const [nobody] = remainingWork(undefined, kinds)
  for (const cost of costs.filter((_, n) => n % 997 === 0)) {
    const [rest] = remainingWork(cost, kinds)
    assert.equal((rest?.amount ?? 0) + cost.amount, nobody?.amount)
  }
})

test('the usual costs of all products are admitted together', () => {
  const kinds = createForeignKinds()
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
  for (const cost of usual) assert.equal(kinds.admits(kindOf(cost)), true, kindOf(cost))
})

test('the dearest hashes of two algorithms are admitted together, and no third one; cheaper hashes of both still are', () => {
  const dearest = ['bcrypt/16384', kindOf(pbkdf2(4_000_000)), 'scrypt 262144 8 1/1', 'argon2id 262144 4 1/1', 'pbkdf2-sha512/1507328']
  for (const first of dearest)
    for (const second of dearest.filter((kind) => kind !== first)) {
      const kinds = createForeignKinds([first, second])
      assert.deepEqual([first, second].map(kinds.admits), [true, true], `${first} and ${second}`)
      for (const third of dearest)
        assert.equal(kinds.admits(third), third === first || third === second, `${third} after ${first}, ${second}`)
    }
  const full = createForeignKinds(['bcrypt/16384', kindOf(pbkdf2(4_000_000))])
  assert.deepEqual(['bcrypt/1024', kindOf(pbkdf2(600_000))].map(full.admits), [true, true])
})

test('however cheap they are, no more kinds are admitted than a login lists', () => {
  const kinds = createForeignKinds()
  const many = Array.from({ length: 5000 }, (_, n) => `argon2id ${n + 8} 1 1/1`)
  assert.equal(many.filter(kinds.admits).length, MAX_FOREIGN_KINDS)
  assert.equal(kinds.admits(many[0] ?? ''), true)
  assert.equal(kinds.admits('bcrypt/16'), false)
})

test('a login computes no kinds beyond the bounds, which only a row that was changed by hand has', () => {
  const many = Array.from({ length: 5000 }, (_, n) => `argon2id ${n + 8} 1 1/1`)
  assert.equal(remainingWork(undefined, many).length, MAX_FOREIGN_KINDS)
  const huge = ['argon2id 99999999 99 1/1', 'bcrypt/16', 'pbkdf2-sha256/1e300', 'pbkdf2-sha512/Infinity', 'scrypt 1073741824 8 1/1']
  assert.deepEqual(boundedKinds(huge), ['bcrypt/16'])
  // A kind that nothing computes costs nothing, and does not keep others out.
  assert.deepEqual(boundedKinds(['bcrypt/x', 'unknown/9', 'bcrypt/16384']), ['bcrypt/x', 'unknown/9', 'bcrypt/16384'])
})

test('a kind that release 0.8.0 has stored with its exact amount is rounded, and nothing else is', () => {
  assert.equal(roundedKind('pbkdf2-sha256/600001'), kindOf(pbkdf2(600_001)))
  for (const kind of ['bcrypt/1024', 'scrypt 16384 8 1/1', 'bcrypt/x', 'bcrypt/0', 'pbkdf2-sha256/1e300', 'pbkdf2-sha256/1.5', 'unknown'])
    assert.equal(roundedKind(kind), kind)
})

test('of many kinds that release 0.8.0 has stored, a login computes the dearest of each family', () => {
  const exact = Array.from({ length: 900 }, (_, n) => `pbkdf2-sha256/${600_000 + n}`)
  const kinds = ['bcrypt/1024', ...exact, 'pbkdf2-sha256/99999', 'pbkdf2-sha512/210000', 'scrypt 16384 8 1/1']
  assert.deepEqual(boundedKinds(kinds), ['bcrypt/1024', kindOf(pbkdf2(600_899)), 'pbkdf2-sha512/212992', 'scrypt 16384 8 1/1'])
})

test('kinds that release 0.8.0 has stored do not keep an import from bringing others', () => {
  const kinds = createForeignKinds(Array.from({ length: 900 }, (_, n) => `pbkdf2-sha256/${600_000 + n}`))
  assert.deepEqual(['bcrypt/1024', kindOf(pbkdf2(600_500))].map(kinds.admits), [true, true])
})
