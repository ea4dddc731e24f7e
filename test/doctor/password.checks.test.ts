import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { checkDatabase } from '../../src/doctor/database.checks.ts'
import { checkBlocklist, checkForeignHashes } from '../../src/doctor/password.checks.ts'
import type { MeasureFamilies } from '../../src/security/foreign/equal-work.ts'
import { OWN_FAMILY } from '../../src/security/foreign/login-work.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { importUser } from '../support/app/accounts.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { test as databaseTest, freshDatabase, temporaryFolder } from '../support/databases/databases.ts'
import { problems } from '../support/processes/doctor.ts'

const ADMIN = { ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD: 'correct horse' }

test('doctor reports a list of breached passwords that is missing, a folder, or not ordered', async (t) => {
  const folder = temporaryFolder(t)
  const unordered = join(folder, 'unordered.txt')
  writeFileSync(unordered, ['F', ...Array.from({ length: 999 }, () => '0')].map((digit) => `${digit.repeat(40)}:1\n`).join(''))
  for (const [file, reason] of [
    [join(folder, 'missing.txt'), 'does not exist'],
    [folder, 'is a folder'],
    [unordered, 'is not ordered by hash, at byte '],
  ] as const) {
    const [problem, ...others] = problems(await checkBlocklist(loadConfig({ PASSWORD_BLOCKLIST: file })), 'password')
    assert.ok(problem?.startsWith(`error: PASSWORD_BLOCKLIST: ${file} ${reason}`))
    assert.deepEqual(others, [])
  }
})

test('doctor accepts a list that can be searched, and warns if ADMIN_PASSWORD is on it', async (t) => {
  const file = join(temporaryFolder(t), 'list.txt')
  writeFileSync(file, 'another password\n')
  for (const env of [{}, { PASSWORD_BLOCKLIST: 'common' }, { PASSWORD_BLOCKLIST: file }])
    assert.deepEqual(problems(await checkBlocklist(loadConfig({ ...env, ...ADMIN })), 'password'), [])
  writeFileSync(file, 'correct horse\n')
  assert.deepEqual(problems(await checkBlocklist(loadConfig({ PASSWORD_BLOCKLIST: file })), 'password'), [])
  assert.deepEqual(problems(await checkBlocklist(loadConfig({ PASSWORD_BLOCKLIST: file, ...ADMIN })), 'password'), [
    'warning: ADMIN_PASSWORD is on the list of PASSWORD_BLOCKLIST',
  ])
})

/** A machine on which an own hash takes 20 ms, bcrypt 10 takes 60 ms, and everything else 200 ms. */
const measure: MeasureFamilies = async (families) =>
  new Map(families.map((family) => [family, family === OWN_FAMILY ? 20 : family === 'bcrypt' ? 60 / 1024 : 200]))

test('doctor says what a login costs with imported hashes, and nothing without any', async () => {
  assert.deepEqual(await checkForeignHashes([], measure), [])
  assert.deepEqual(await checkForeignHashes(['bcrypt/1024', 'bcrypt/16', 'scrypt 16384 8 1/1'], measure), [
    { check: 'password', verdict: 'ok', message: 'with the imported hashes, a login costs 300 ms of one core' },
  ])
})

test('doctor warns if imported hashes make a login cost more than half a second on this machine, and names them', async () => {
  const found = problems(await checkForeignHashes(['bcrypt/8192', 'bcrypt/16'], measure), 'password')
  assert.deepEqual(found, [
    'warning: the imported hashes cost each login 520 ms of one core on this machine, and 500 ms are acceptable: bcrypt 13 takes 480 ms',
  ])
})

test('doctor names the hashes that the service does not compute', async () => {
  const kinds = ['argon2id 262144 1 1/1', 'bcrypt/1024', 'bcrypt/16384']
  const found = await checkForeignHashes(kinds, measure)
  assert.deepEqual(problems(found, 'password'), [
    'warning: the imported hashes cost each login 1200 ms of one core on this machine, and 500 ms are acceptable: bcrypt 14 takes 960 ms, argon2id m=262144,t=1,p=1 takes 200 ms; the service does not compute bcrypt 14, so that nobody can log in with such a hash',
  ])
  assert.match(found[0]?.advice ?? '', /POST \/forgot-password\/.* user set-password USER/)
})

databaseTest('doctor reads the kinds of hashes that accounts have', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  await importUser(db, { email: 'ada@example.com', password_hash: `$2b$14$${'X'.repeat(53)}` })
  const env = { DATABASE_URL: target.setting, SECRET_KEY: TEST_SECRET, PORT: '0' }
  const findings = await checkDatabase(loadConfig(env), Date.now)
  const [found = ''] = problems(findings, 'password')
  assert.match(found, /^warning: the imported hashes cost each login \d+ ms of one core on this machine, .* bcrypt 14 takes \d+ ms/)
})
