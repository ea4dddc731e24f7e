import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromTimestamp, isInFuture } from '../../../src/cli/import/sources/source.ts'
import type { SourceName } from '../../../src/cli/import/sources/source-names.ts'
import { createSource } from '../../../src/cli/import/sources/sources.ts'
import { checkUser } from '../../../src/domain/import/check-user.ts'
import { checkTime } from '../../../src/domain/import/field-checks.ts'
import { Rejected } from '../../../src/domain/import/imported-user.ts'
import type { JsonObject } from '../../../src/model/entity.ts'

const CHECK = { withoutPasswords: false }
const WITHOUT = '; --without-passwords imports the user for a reset by mail'

const convert = (from: SourceName, record: JsonObject) => createSource(from, undefined).convert(record)

test('names that are empty or missing are taken from the full name, if there is one', () => {
  for (const empty of [undefined, null, '']) {
    const [first, last] = [
      { first_name: empty, last_name: empty },
      { given_name: empty, family_name: empty },
    ]
    const supabase = convert('supabase', { raw_user_meta_data: { ...first, name: 'Ada Lovelace' } })
    const auth0 = convert('auth0', { ...last, name: 'Ada Lovelace' })
    for (const { first_name, last_name } of [supabase, auth0]) assert.deepEqual([first_name, last_name], ['Ada', 'Lovelace'])
  }
  const given = convert('auth0', { given_name: 'Ada', family_name: null, name: 'Somebody Else' })
  assert.deepEqual([given['first_name'], given['last_name']], ['Ada', null])
})

test('an address of Supabase is verified if it was confirmed, also in old tables, and not if only a phone number was', () => {
  const confirmed = '2024-03-01 10:20:30+00'
  const verified = (record: JsonObject) => convert('supabase', record)['verified']
  assert.equal(verified({ email_confirmed_at: confirmed, confirmed_at: confirmed }), true)
  assert.equal(verified({ email_confirmed_at: null, confirmed_at: confirmed }), false)
  assert.equal(verified({ confirmed_at: confirmed }), true)
  assert.equal(verified({ confirmed_at: null }), false)
})

test('times are read in the forms that databases and products write; without an offset they are UTC', () => {
  const expected = Date.UTC(2026, 0, 31, 9, 30, 5, 120)
  const forms = [
    '2026-01-31T09:30:05.12Z',
    '2026-01-31T10:30:05.120+01:00',
    '2026-01-31T10:30:05.120+0100',
    '2026-01-31 09:30:05.120456+00',
    '2026-01-31 15:00:05.12+05:30',
    '2026-01-31 09:30:05.12',
    '2026-01-31T09:30:05.120456',
  ]
  for (const form of forms) assert.equal(checkTime('created_at', form), expected, form)
  for (const wrong of ['2026-01-31', '09:30:05', '2026-02-30T09:30:05', '2026-01-31T09:30:0512', '2026-01-31 09:30:05 CET', '1769851805'])
    assert.throws(() => checkTime('created_at', wrong), Rejected, wrong)
})

test('a time before 1970 is read as 1970: some products store one where a time is missing', () => {
  for (const early of [
    '0001-01-01 00:00:00+00',
    '0001-01-01T00:00:00Z',
    '0096-02-29T00:00:00Z',
    '1969-12-31T23:59:59.999Z',
    '1900-01-01T00:00:00',
  ])
    assert.equal(checkTime('created_at', early), 0, early)
  assert.throws(() => checkTime('created_at', '0097-02-29T00:00:00Z'), Rejected)
})

test('numbers are times in milliseconds or in seconds, within the years that the format has', () => {
  for (const value of [1_735_787_045_000, '1735787045000', 1_735_787_045, '1735787045', 1_735_787_045.0004])
    assert.equal(fromTimestamp(value), '2025-01-02T03:04:05.000Z', String(value))
  for (const value of [0, '0', -1, '-1', -62_135_596_800_000]) assert.equal(fromTimestamp(value), '1970-01-01T00:00:00.000Z', String(value))
  for (const value of [9e15, 1e300, '99999999999999999']) assert.equal(fromTimestamp(value), '9999-12-31T23:59:59.999Z', String(value))
  for (const value of [undefined, null, '', 'soon', '1e9', Number.NaN, Number.POSITIVE_INFINITY, {}, true])
    assert.equal(fromTimestamp(value), undefined, String(value))
})

test('a ban that has expired is not imported, one without an end is, and one with an unreadable end is rejected', () => {
  const bannedUntil = (value: unknown) => isInFuture('banned_until', value)
  for (const future of [
    'infinity',
    '2999-01-01 00:00:00+00',
    '2999-01-01T00:00:00',
    32_503_680_000_000,
    '32503680000000',
    32_503_680_000,
    9e15,
  ])
    assert.equal(bannedUntil(future), true, String(future))
  for (const past of [
    undefined,
    null,
    '',
    '2020-01-01 00:00:00+00',
    '2020-01-01T00:00:00',
    0,
    -1,
    '0001-01-01 00:00:00+00',
    '1969-12-31 23:59:59+00',
    1_735_787_045,
  ])
    assert.equal(bannedUntil(past), false, String(past))
  for (const unreadable of ['soon', '-infinity', true, {}]) assert.throws(() => bannedUntil(unreadable), Rejected)
})

test('a user of the FastAPI template belongs to one of its two projects, by its password, and its role and ban are never guessed', () => {
  const both = { email: 'ada@example.com', password: 'x', hashed_password: 'x' }
  assert.throws(() => convert('fastapi-template', both), new Rejected('password, hashed_password: only one of them may be given'))
  const fields = (record: JsonObject) => createSource('fastapi-template', undefined).fieldsOf(record)
  assert.ok('full_name' in fields({ hashed_password: 'x', first_name: 'Ada' }) && !('first_name' in fields({ hashed_password: 'x' })))
  assert.ok('first_name' in fields({ password: 'x', full_name: 'Ada' }) && !('full_name' in fields({ password: 'x' })))
  const check = (record: JsonObject) =>
    checkUser(convert('fastapi-template', { email: 'ada@example.com', password: null, ...record }), 1, CHECK)
  assert.equal(check({ role: 'RoleType.admin' }).role, 'admin')
  assert.throws(() => check({ role: 'RoleType.owner' }), new Rejected('role: should be user or admin'))
  assert.throws(() => check({ banned: 'perhaps' }), new Rejected('banned: should be true or false'))
  assert.throws(() => check({ banned: 2 }), new Rejected('banned: should be true or false'))
})

test('a hash of a bulk import into Auth0 that cannot be verified is rejected with the reason, or left out on request', () => {
  const custom = (value: object) => ({ email: 'ada@example.com', custom_password_hash: value })
  const scrypt = { algorithm: 'scrypt', hash: { value: 'ab'.repeat(32), encoding: 'hex' }, salt: { value: 'abc' }, keylen: 32 }
  assert.equal(checkUser(convert('auth0', custom(scrypt)), 1, CHECK).foreignKind, 'scrypt 16384 8 1/1')
  const cases: readonly (readonly [object, string])[] = [
    [{}, 'it is of an unknown kind'],
    [{ algorithm: { toString: 1 } }, 'it is of an unknown kind'],
    [{ algorithm: 'md4' }, 'md4 is too weak to take over'],
    [{ algorithm: 'bcrypt' }, 'its hash.value should be text'],
    [{ algorithm: 'bcrypt', hash: { value: '5f4dcc3b5aa765d61d8327deb882cf99' } }, 'md5 is too weak to take over'],
    [{ algorithm: 'pbkdf2', hash: { value: '$pbkdf2-whirlpool$i=1000,l=64$c2FsdA$aGFzaA' } }, 'it is of an unknown kind, or damaged'],
    [{ ...scrypt, keylen: 64 }, 'its keylen should be the number of bytes of the hash'],
    [{ ...scrypt, cost: 1000 }, 'its cost should be a power of two'],
    [{ ...scrypt, cost: { toString: 1 } }, 'its cost should be a power of two'],
    [{ ...scrypt, cost: 2 ** 21 }, 'its logarithm of N should be from 1 to 20'],
    [{ ...scrypt, blockSize: '8' }, 'it is of an unknown kind, or damaged'],
    [{ ...scrypt, hash: { value: scrypt.hash.value } }, 'its hash.encoding should be hex or base64'],
    [{ ...scrypt, hash: { value: 'xyz', encoding: 'hex' } }, 'its hash.value should be hex'],
    [{ ...scrypt, salt: undefined }, 'its salt.value should be utf8'],
    [{ ...scrypt, salt: { value: 'a!', encoding: 'base64' } }, 'its salt.value should be base64'],
  ]
  for (const [hash, reason] of cases) {
    const user = convert('auth0', custom(hash))
    assert.throws(() => checkUser(user, 1, CHECK), new Rejected(`password_hash: ${reason}${WITHOUT}`), reason)
    assert.equal(checkUser(user, 1, { withoutPasswords: true }).passwordHash, undefined)
  }
  assert.throws(
    () => convert('auth0', { ...custom(scrypt), password_hash: '$2b$04$x' }),
    new Rejected('passwordHash, password_hash, custom_password_hash: only one of them may be given'),
  )
})

test('a credential of Keycloak with objects in place of texts is rejected like every other hash', () => {
  const credentialData = JSON.stringify({ algorithm: { toString: 1 }, hashIterations: { toString: 1 } })
  const record = { username: 'ada', email: 'ada@example.com', credentials: [{ type: 'password', credentialData, secretData: '{}' }] }
  assert.throws(
    () => checkUser(convert('keycloak', record), 1, CHECK),
    new Rejected(`password_hash: it is of an unknown kind, or damaged${WITHOUT}`),
  )
})

const BOOLEANS: readonly (readonly [SourceName, JsonObject, string, 'banned' | 'verified' | 'role', unknown])[] = [
  ['latchkey', {}, 'banned', 'banned', true],
  ['latchkey', {}, 'verified', 'verified', true],
  ['csv', {}, 'banned', 'banned', true],
  ['better-auth', { emailVerified: true }, 'banned', 'banned', true],
  ['better-auth', {}, 'emailVerified', 'verified', true],
  ['auth0', {}, 'blocked', 'banned', true],
  ['auth0', {}, 'email_verified', 'verified', true],
  ['firebase', {}, 'disabled', 'banned', true],
  ['firebase', {}, 'emailVerified', 'verified', true],
  ['keycloak', {}, 'enabled', 'banned', false],
  ['keycloak', {}, 'emailVerified', 'verified', true],
  ['django', {}, 'is_active', 'banned', false],
  ['django', {}, 'is_superuser', 'role', 'admin'],
  ['fastapi-template', { password: null }, 'banned', 'banned', true],
  ['fastapi-template', { password: null }, 'verified', 'verified', true],
  ['fastapi-template', { hashed_password: null }, 'is_active', 'banned', false],
  ['fastapi-template', { hashed_password: null }, 'is_superuser', 'role', 'admin'],
]

for (const [from, others, name, field, expected] of BOOLEANS)
  test(`${name} of ${from} is read in every usual spelling, and any other spelling rejects the user`, () => {
    const check = (value: unknown) => {
      const fields = { email: 'ada@example.com', ...others, [name]: value }
      return checkUser(convert(from, from === 'django' ? { fields } : fields), 1, CHECK)[field]
    }
    const opposite = field === 'role' ? 'user' : !expected
    for (const yes of [true, 1, '1', 'true', 'True', 'TRUE', 't', 'T', 'yes', 'YES', 'on', 'On'])
      assert.equal(check(yes), expected, String(yes))
    for (const no of [false, 0, '0', 'false', 'False', 'f', 'F', 'no', 'No', 'off', 'OFF']) assert.equal(check(no), opposite, String(no))
    for (const wrong of ['perhaps', 'Y', 'tru', 2, -1, Number.NaN, {}, [], [true]])
      assert.throws(() => check(wrong), new Rejected(`${name}: should be true or false`), String(wrong))
  })

test('an account of Supabase that is marked as deleted is rejected, however the time is written', () => {
  for (const deleted_at of ['2024-03-01 10:20:30+00', 1_735_787_045])
    assert.throws(() => convert('supabase', { deleted_at }), new Rejected('the account is marked as deleted'))
  for (const deleted_at of [null, '', undefined]) convert('supabase', { deleted_at })
})
