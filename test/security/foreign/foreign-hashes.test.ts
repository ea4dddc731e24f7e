import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { hash as hashWithBcrypt } from '@node-rs/bcrypt'
import { compare, createEqualWork, remainingWork } from '../../../src/security/foreign/equal-work.ts'
import { type HashCost, UnusableHash } from '../../../src/security/foreign/foreign-hash.ts'
import { kindOf, parseForeignHash } from '../../../src/security/foreign/kinds.ts'
import { boundedWork } from '../../../src/security/foreign/login-work.ts'
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

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const BCRYPT_BASE64 = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Sets bits of the last character that no byte is made of. */
function withLastBits(text: string, alphabet: string, bits: number): string {
  return text.slice(0, -1) + alphabet.charAt(alphabet.indexOf(text.slice(-1)) | bits)
}

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
  [`$argon2id$v=19$m=8,t=1,p=16$${SALT}$${KEY}`, /memory in KiB should be from 128 to 262144/],
  [`$argon2id$v=19$m=128,t=1,p=1$c2FsdA$${KEY}`, /salt should have at least 8 bytes/],
  [`$argon2id$v=19$m=128,t=1,p=1$${'a'.repeat(700)}$${KEY}`, /salt should have 1 to 256 bytes/],
  [`$2b$31$${BCRYPT_END}`, /cost should be from 4 to 14/],
  [`$scrypt$ln=16,r=1,p=1$${SALT}$${KEY}`, /N should be from 2 to 32768/],
  [`$scrypt$ln=30,r=8,p=1$${SALT}$${KEY}`, /logarithm of N/],
  [`scrypt$1073741824$salt$8$1$${KEY}`, /N should be from 2 to 1048576/],
  [`$pbkdf2-sha512$1000000000$${SALT}$${KEY}`, /number of iterations/],
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
  // 40 bytes are two blocks of SHA-256, and 2000 is rounded up.
  assert.equal(kindOf(parseForeignHash(`$pbkdf2-sha256$1000$${SALT}$${'a'.repeat(54)}`).cost), 'pbkdf2-sha256/2048')
})

test('every comparison costs the same work: the highest of each algorithm that an account has', () => {
  const costs = VECTORS.map(({ hash }) => parseForeignHash(hash).cost)
  const work = boundedWork([...costs.map(kindOf), 'bcrypt/4096', 'pbkdf2-sha256/600000'], () => 0)
  const workOf = (cost: HashCost | undefined) => {
    const total = new Map<string, number>()
    for (const { family, amount } of [...(cost ? [cost] : []), ...remainingWork(cost, work)])
      total.set(family, (total.get(family) ?? 0) + amount)
    return [...total].sort()
  }
  const forNoAccount = workOf(undefined)
  assert.equal(new Map(forNoAccount).get('bcrypt'), 4096)
  // Release 0.8.0 stored exact amounts: they are rounded up when they are read.
  assert.equal(new Map(forNoAccount).get('pbkdf2-sha256'), 622_592)
  for (const cost of costs) assert.deepEqual(workOf(cost), forNoAccount, kindOf(cost))
})

test('without accounts of other systems there is no work besides the own hash', () => {
  assert.deepEqual(
    remainingWork(
      undefined,
      boundedWork([], () => 0),
    ),
    [],
  )
})

test('a hash that is accepted can be computed: odd spellings, and the lowest costs that each algorithm has', async () => {
  const accepted = [
    `$argon2id$v=19$m=0064,t=01,p=1$${SALT}==$${KEY}`,
    `$argon2i$v=16$m=128,t=1,p=16$a.aaaaaaaaaa$${'a'.repeat(171)}`,
    `$argon2d$v=19$m=8,t=1,p=1$${'a'.repeat(340)}$${KEY}`,
    `$2b$04$${BCRYPT_END}`,
    `$scrypt$ln=15,r=1,p=1$${SALT}$${KEY}`,
    `$scrypt$ln=1,r=1,p=64$YQ$${KEY}`,
    `$pbkdf2$1$YQ$${'a'.repeat(22)}`,
  ]
  const kinds = accepted.map((hash) => kindOf(parseForeignHash(hash).cost))
  const prepare = createEqualWork()
  for (const hash of [...accepted, undefined]) {
    const matches = await prepare(hash, kinds)
    for (const password of ['password', '', 'a\0b', '\ud800', 'x'.repeat(300)]) assert.equal(await matches(password), false)
  }
  for (const [place, kind] of kinds.entries()) await assert.doesNotReject(parseForeignHash(accepted[place] ?? '').matches('password'), kind)
})

test('a hash of the cost of the service in another spelling is verified like one of another system', async () => {
  const passwords = createPasswords(CHEAP)
  const hash = await passwords.hash('a good password')
  const padded = hash.replace(/([^$]+)\$([^$]+)$/, '$1==$$$2=')
  assert.notEqual(padded, hash)
  assert.deepEqual([passwords.needsRehash(hash), passwords.needsRehash(padded)], [false, true])
  assert.equal(await passwords.matches('a good password', padded), true)
  assert.equal(await passwords.matches('a wrong password', padded), false)
})

test('a hash of the cost of the service whose last bits are not zero is verified like one of another system', async () => {
  const passwords = createPasswords(CHEAP)
  const hash = await passwords.hash('a good password')
  const [salt = '', key = ''] = hash.split('$').slice(-2)
  for (const part of [salt, key]) {
    const odd = hash.replace(part, withLastBits(part, BASE64, 0b11))
    assert.notEqual(odd, hash)
    assert.equal(passwords.needsRehash(odd), true)
    assert.equal(await passwords.matches('a good password', odd), true)
    assert.equal(await passwords.matches('a wrong password', odd), false)
  }
})

test('a hash of bcrypt whose last bits of salt and hash are not zero is verified', async () => {
  const hash = await hashWithBcrypt('a good password', 4)
  const [start, end] = [hash.slice(0, 29), hash.slice(29)]
  const passwords = createPasswords(CHEAP)
  for (const odd of [withLastBits(start, BCRYPT_BASE64, 0b1111) + end, start + withLastBits(end, BCRYPT_BASE64, 0b11)]) {
    assert.notEqual(odd, hash)
    assert.equal(await passwords.matches('a good password', odd), true)
    assert.equal(await passwords.matches('a wrong password', odd), false)
  }
})

test('the work of a comparison counts as spent only if the library has done it', async () => {
  const cost = { family: 'bcrypt', amount: 1024 }
  const outcomes = [async () => true, async () => false, () => Promise.reject(new Error('refused'))]
  assert.deepEqual(await Promise.all(outcomes.map((matches) => compare('password', { cost, matches }))), [
    { isMatch: true, spent: cost },
    { isMatch: false, spent: cost },
    { isMatch: false, spent: undefined },
  ])
  assert.deepEqual(await compare('password', undefined), { isMatch: false, spent: undefined })
})

test('a kind that no library computes, such as one of a damaged row, does not make the logins of others fail', async () => {
  const { password, hash } = VECTORS[0] ?? assert.fail()
  const kinds = ['argon2id 1 1 16/1', 'scrypt 65536 1 1/1', 'bcrypt/x', 'unknown/1', kindOf(parseForeignHash(hash).cost)]
  const prepare = createEqualWork()
  assert.equal(await (await prepare(hash, kinds))(password), true)
  assert.equal(await (await prepare(undefined, kinds))(password), false)
})
