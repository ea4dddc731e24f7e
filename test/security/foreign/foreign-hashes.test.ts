import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { kindOf, remainingWork } from '../../../src/security/foreign/equal-work.ts'
import { type HashCost, UnusableHash } from '../../../src/security/foreign/foreign-hash.ts'
import { parseForeignHash } from '../../../src/security/foreign/parse-hash.ts'
import { createPasswords, NO_PASSWORD } from '../../../src/security/password.ts'

type Vector = { readonly by: string; readonly password: string; readonly hash: string }

const VECTORS = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')) as readonly Vector[]
const CHEAP = { memoryKiB: 64, passes: 1, maxWaitMs: 60_000 }

for (const { by, password, hash } of VECTORS) {
  test(`a hash of another implementation is verified: ${by}`, async () => {
    const passwords = createPasswords(CHEAP)
    assert.equal(await passwords.matches(password, hash), true)
    assert.equal(await passwords.matches(`~${password.slice(1)}`, hash), false)
    assert.equal(await passwords.matches('', hash), false)
    assert.equal(passwords.needsRehash(hash), true)
  })
}

const SALT = 'c2FsdHNhbHRzYWx0c2FsdA'
const KEY = 'a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5'
const BCRYPT_END = 'X'.repeat(53)

const REJECTED: readonly [string, RegExp][] = [
  ['5f4dcc3b5aa765d61d8327deb882cf99', /^md5 is too weak/],
  ['md5$salt$5f4dcc3b5aa765d61d8327deb882cf99', /^md5 is too weak/],
  ['$1$salt$qJH7.N4xYta3aEG/dfqo/0', /^md5 is too weak/],
  ['5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8', /^sha1 is too weak/],
  ['sha1$salt$5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8', /^sha1 is too weak/],
  ['{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=', /^sha1 is too weak/],
  ['rl.3StKT.4T8M', /^crypt is too weak/],
  ['crypt$$rl.3StKT.4T8M', /^crypt is too weak/],
  ['$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g.', /^crypt is too weak/],
  [`$2b$15$${BCRYPT_END}`, /cost should be from 4 to 14/],
  [`$2b$03$${BCRYPT_END}`, /cost should be from 4 to 14/],
  [`$2b$10$${BCRYPT_END}X`, /unknown kind, or damaged/],
  [`$2x$10$${BCRYPT_END}`, /unknown kind, or damaged/],
  [`$argon2id$v=19$m=4194304,t=1,p=1$${SALT}$${KEY}`, /memory in KiB should be from 8 to 262144/],
  [`$argon2id$v=19$m=262144,t=5,p=1$${SALT}$${KEY}`, /memory times its passes/],
  [`$argon2id$v=19$m=1024,t=4000000,p=1$${SALT}$${KEY}`, /number of passes/],
  [`$argon2id$v=19$m=1024,t=1,p=200$${SALT}$${KEY}`, /number of lanes/],
  [`$scrypt$ln=25,r=8,p=1$${SALT}$${KEY}`, /logarithm of N/],
  [`$scrypt$ln=20,r=8,p=1$${SALT}$${KEY}`, /memory in bytes/],
  [`$scrypt$ln=14,r=8,p=64$${SALT}$${KEY}`, /work N · r · p/],
  [`scrypt$1000$salt$8$1$${KEY}`, /power of two/],
  [`$pbkdf2-sha256$9999999$${SALT}$${KEY}`, /number of iterations/],
  [`pbkdf2_sha256$99999999999999999999$salt$${KEY}`, /number of iterations/],
  [`$pbkdf2-sha256$1000$${SALT}$aaaa`, /hash should have 16 to 128 bytes/],
  [`$pbkdf2-sha256$1000$${SALT}$a b`, /not base64/],
  [`$pbkdf2-md5$1000$${SALT}$${KEY}`, /unknown kind/],
  ['', /unknown kind/],
  ['x'.repeat(100_000), /longer than 1000 characters/],
]

test('weak hashes, unknown ones and those beyond the bounds are rejected with a reason that does not contain them', () => {
  for (const [hash, reason] of REJECTED)
    assert.throws(
      () => parseForeignHash(hash),
      (error) => error instanceof UnusableHash && reason.test(error.message) && (hash === '' || !error.message.includes(hash)),
      hash.slice(0, 60),
    )
})

test('a stored hash beyond the bounds, a damaged one and the mark of no password match nothing', async () => {
  const passwords = createPasswords(CHEAP)
  for (const hash of [...REJECTED.map(([rejected]) => rejected), NO_PASSWORD])
    assert.equal(await passwords.matches('password', hash), false)
})

test('the kind of a hash names its algorithm and its cost, and no salt', () => {
  for (const { hash } of VECTORS)
    assert.match(
      kindOf(parseForeignHash(hash).cost),
      /^(?:argon2(?:id|i|d) \d+ \d+ \d+\/1|bcrypt\/\d+|scrypt \d+ \d+ \d+\/1|pbkdf2-sha\d+\/\d+)$/,
    )
  assert.equal(kindOf(parseForeignHash(`$2b$10$${BCRYPT_END}`).cost), 'bcrypt/1024')
  // 40 bytes are two blocks of SHA-256.
  assert.equal(kindOf(parseForeignHash(`$pbkdf2-sha256$1000$${SALT}$${'a'.repeat(54)}`).cost), 'pbkdf2-sha256/2000')
})

test('every comparison costs the same work: the highest of each algorithm that an account has', () => {
  const costs = VECTORS.map(({ hash }) => parseForeignHash(hash).cost)
  const kinds = [...costs.map(kindOf), 'bcrypt/4096', 'pbkdf2-sha256/600000']
  const workOf = (cost: HashCost | undefined) => {
    const total = new Map<string, number>()
    for (const { family, amount } of [...(cost ? [cost] : []), ...remainingWork(cost, kinds)])
      total.set(family, (total.get(family) ?? 0) + amount)
    return [...total].sort()
  }
  const forNoAccount = workOf(undefined)
  assert.equal(new Map(forNoAccount).get('bcrypt'), 4096)
  assert.equal(new Map(forNoAccount).get('pbkdf2-sha256'), 600_000)
  for (const cost of costs) assert.deepEqual(workOf(cost), forNoAccount, kindOf(cost))
})

test('without accounts of other systems there is no work besides the own hash', () => {
  assert.deepEqual(remainingWork(undefined, []), [])
})
