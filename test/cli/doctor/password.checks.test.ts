import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkBlocklist } from '../../../src/cli/doctor/password.checks.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { problems } from '../../support/processes/doctor.ts'

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
