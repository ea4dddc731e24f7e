import assert from 'node:assert/strict'
import fs, { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { generateSecretKey, keptSecrets, readKeptSecrets, replaceKeptSecret } from '../../src/security/secret-key.ts'
import { createTokens } from '../../src/security/token.ts'
import { temporaryFolder } from '../support/databases/databases.ts'

const text = (secret: Uint8Array | undefined) => new TextDecoder().decode(secret)
const newSecret = () => new TextEncoder().encode(generateSecretKey())

test('a rotation replaces the secret, and keeps the former ones, newest first, for their owner only', (t) => {
  const file = join(temporaryFolder(t), 'secret.key')
  const [first] = keptSecrets(file)
  const [second, third] = [newSecret(), newSecret()]
  replaceKeptSecret(file, second, [first])
  replaceKeptSecret(file, third, [second, first])
  assert.deepEqual(readKeptSecrets(file)?.map(text), [third, second, first].map(text))
  assert.equal(readFileSync(`${file}.former`, 'utf8'), `${text(second)}\n${text(first)}\n`)
  assert.deepEqual([statSync(file).mode & 0o777, statSync(`${file}.former`).mode & 0o777], [0o600, 0o600])
})

/** The functions of node:fs that change something. Each state between two of them is one that a crash could leave. */
const CHANGES = ['openSync', 'rmSync', 'writeFileSync', 'fchownSync', 'renameSync', 'fsyncSync'] as const

test('a crash at any moment of a rotation leaves files with which every token stays valid, and the next rotation works', (t) => {
  let states = 0
  for (let crashAt = 0; ; crashAt++) {
    const file = join(temporaryFolder(t), 'secret.key')
    const [first] = keptSecrets(file)
    const token = createTokens([first], Date.now).forSession('refresh', 7, 'session')
    const isCrashed = rotateUntil(crashAt, () => replaceKeptSecret(file, newSecret(), [first]))
    const secrets = readKeptSecrets(file)
    assert.ok(secrets)
    assert.equal(createTokens(secrets, Date.now).read(token, 'refresh').userId, 7, `after ${crashAt} changes`)
    // A secret is never listed twice, which the settings would refuse.
    assert.equal(new Set(secrets.map(text)).size, secrets.length)
    const [current, ...formers] = secrets
    replaceKeptSecret(file, newSecret(), [current, ...formers])
    assert.deepEqual(readKeptSecrets(file)?.slice(1).map(text), secrets.map(text))
    assert.ok(!existsSync(`${file}.new`) && !existsSync(`${file}.former.new`))
    states++
    if (!isCrashed) break
  }
  assert.ok(states >= 9, `${states} states`)
})

/** Throws before the given change to the file system. Returns whether it came to that. */
function rotateUntil(crashAt: number, rotate: () => void): boolean {
  let done = 0
  const mocks = CHANGES.map((name) => {
    const original = fs[name] as (...args: unknown[]) => unknown
    return mock.method(fs, name, (...args: unknown[]) => {
      if (done++ === crashAt) throw new Error('crash')
      return original(...args)
    })
  })
  syncBuiltinESMExports()
  try {
    rotate()
    return false
  } catch (error) {
    if (!(error instanceof Error && error.message === 'crash')) throw error
    return true
  } finally {
    for (const { mock: method } of mocks) method.restore()
    syncBuiltinESMExports()
  }
}

test('a half-written draft of an interrupted rotation is replaced', (t) => {
  const file = join(temporaryFolder(t), 'secret.key')
  const [first] = keptSecrets(file)
  for (const draft of [`${file}.new`, `${file}.former.new`]) writeFileSync(draft, 'half', { mode: 0o644 })
  replaceKeptSecret(file, newSecret(), [first])
  assert.deepEqual(readKeptSecrets(file)?.slice(1), [first])
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('planted symbolic links are not followed when a secret is created or replaced', (t) => {
  const folder = temporaryFolder(t)
  const [file, victim] = [join(folder, 'secret.key'), join(folder, 'victim')]
  writeFileSync(victim, 'precious')
  for (const name of [`${file}.new`, `${file}.${process.pid}.new`, `${file}.former`]) symlinkSync(victim, name)
  const [first] = keptSecrets(file)
  replaceKeptSecret(file, newSecret(), [first])
  assert.equal(readFileSync(victim, 'utf8'), 'precious')
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  )
})

test('empty lines, repeated lines and the current secret among the former ones are ignored', (t) => {
  const file = join(temporaryFolder(t), 'secret.key')
  const [first] = keptSecrets(file)
  const former = generateSecretKey()
  writeFileSync(`${file}.former`, `${former}\n\n${text(first)}\r\n${former}\n`)
  assert.deepEqual(readKeptSecrets(file)?.map(text), [text(first), former])
})
