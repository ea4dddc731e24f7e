import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { Refusal } from '../../src/model/refusal.ts'
import { createPasswords, PASSWORD_OPTIONS } from '../../src/security/password.ts'

const CHEAP = { memoryKiB: 64, passes: 1, maxWaitMs: 60_000 }
const SLOTS = availableParallelism()

test('a password is kept as argon2id with 19 MiB, two passes and one lane', async () => {
  const passwords = createPasswords(PASSWORD_OPTIONS)
  const stored = await passwords.hash('correct horse battery')
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(await passwords.matches('correct horse battery', stored), true)
  assert.equal(await passwords.matches('correct horse batterY', stored), false)
})

test('the same password is kept differently each time', async () => {
  const passwords = createPasswords(CHEAP)
  assert.notEqual(await passwords.hash('correct horse battery'), await passwords.hash('correct horse battery'))
})

test('a hash made at another price is due to be made anew', async () => {
  const stored = await createPasswords(CHEAP).hash('correct horse battery')
  assert.equal(createPasswords(CHEAP).needsRehash(stored), false)
  assert.equal(createPasswords({ ...CHEAP, passes: 2 }).needsRehash(stored), true)
  assert.equal(createPasswords({ ...CHEAP, memoryKiB: 128 }).needsRehash(stored), true)
})

test('where there is no account, a hash of the same price is computed, and the answer is no', async () => {
  const passwords = createPasswords(CHEAP)
  await passwords.matches('warm', undefined)
  const checks = Array.from({ length: SLOTS + 3 }, () => passwords.matches('no account has this password', undefined))
  await new Promise(setImmediate)
  assert.equal(passwords.waiting(), 3)
  assert.deepEqual(await Promise.all(checks), new Array(SLOTS + 3).fill(false))
})

test('what would wait longer than allowed is refused at once, and what was let in is done', async () => {
  const passwords = createPasswords({ ...CHEAP, maxWaitMs: 20 })
  const results = await Promise.allSettled(Array.from({ length: 200 }, () => passwords.hash('correct horse battery')))
  const refusals = results.filter((result) => result.status === 'rejected')
  assert.ok(refusals.length > 0 && refusals.length < 200)
  for (const { reason } of refusals) assert.ok(reason instanceof Refusal && reason.code === 'unavailable')
  assert.equal(passwords.waiting(), 0)
  assert.match(await passwords.hash('and it goes on'), /^\$argon2id/)
})

test('a client that has gone gives up its place, and nothing is hashed for it', async () => {
  const passwords = createPasswords(CHEAP)
  const busy = Array.from({ length: SLOTS }, () => passwords.hash('busy'))
  const gone = new AbortController()
  const dropped = passwords.hash('for nobody', gone.signal)
  const patient = passwords.hash('for somebody')
  gone.abort()
  await assert.rejects(dropped, { message: 'the client has disconnected' })
  assert.equal(passwords.waiting(), 1)
  await Promise.all([...busy, patient])
  const late = new AbortController()
  late.abort()
  await assert.rejects(passwords.hash('for nobody either', late.signal), { message: 'the client has disconnected' })
})

test('a hash that is ready when the client has disconnected is not handed out', async () => {
  const passwords = createPasswords(CHEAP)
  const gone = new AbortController()
  const [hashing, checking] = [passwords.hash('for nobody', gone.signal), passwords.matches('for nobody', undefined, gone.signal)]
  gone.abort()
  await assert.rejects(hashing, { message: 'the client has disconnected' })
  await assert.rejects(checking, { message: 'the client has disconnected' })
})
