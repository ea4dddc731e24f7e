import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Refusal } from '../../src/model/refusal.ts'
import { createPasswords, hashingThreads, PASSWORD_OPTIONS } from '../../src/security/password.ts'

const CHEAP = { memoryKiB: 64, passes: 1, maxWaitMs: 60_000 }
const SLOTS = hashingThreads(availableParallelism(), process.env['UV_THREADPOOL_SIZE'])

test('a password is hashed by argon2id with 19 MiB, two passes and one lane', async () => {
  const passwords = createPasswords(PASSWORD_OPTIONS)
  const stored = await passwords.hash('correct horse battery')
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(await passwords.matches('correct horse battery', stored), true)
  assert.equal(await passwords.matches('correct horse batterY', stored), false)
})

test('two hashes of one password differ', async () => {
  const passwords = createPasswords(CHEAP)
  assert.notEqual(await passwords.hash('correct horse battery'), await passwords.hash('correct horse battery'))
})

test('a hash of another cost needs a rehash', async () => {
  const stored = await createPasswords(CHEAP).hash('correct horse battery')
  assert.equal(createPasswords(CHEAP).needsRehash(stored), false)
  assert.equal(createPasswords({ ...CHEAP, passes: 2 }).needsRehash(stored), true)
  assert.equal(createPasswords({ ...CHEAP, memoryKiB: 128 }).needsRehash(stored), true)
})

test('without an account, a hash of the same cost is compared, and nothing matches', async () => {
  const passwords = createPasswords(CHEAP)
  await passwords.matches('warm', undefined)
  const checks = Array.from({ length: SLOTS + 3 }, () => passwords.matches('no account has this password', undefined))
  // Looked at before anything else runs: these hashes take less than a turn of the event loop.
  assert.equal(passwords.waiting(), 3)
  assert.deepEqual(await Promise.all(checks), new Array(SLOTS + 3).fill(false))
})

test('passwords that would wait longer than allowed are refused, and others are hashed, then and later', async () => {
  const passwords = createPasswords({ ...CHEAP, maxWaitMs: 20 })
  const results = await Promise.allSettled(Array.from({ length: 200 }, () => passwords.hash('correct horse battery')))
  const refusals = results.filter((result) => result.status === 'rejected')
  assert.ok(refusals.length > 0 && refusals.length < 200)
  for (const { reason } of refusals) assert.ok(reason instanceof Refusal && reason.code === 'unavailable')
  assert.equal(passwords.waiting(), 0)
  assert.match(await passwords.hash('after the flood'), /^\$argon2id/)
})

test('a client that disconnects leaves the queue, and its password is not hashed', async () => {
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

test('a hash is not returned when the client has disconnected meanwhile', async () => {
  const passwords = createPasswords(CHEAP)
  const gone = new AbortController()
  const works = [passwords.hash('for nobody', gone.signal), passwords.matches('for nobody', undefined, gone.signal)]
  gone.abort()
  await Promise.all(works.map((work) => assert.rejects(work, { message: 'the client has disconnected' })))
})

test('passwords are hashed on one thread per core and one more, and one thread of libuv stays free', () => {
  const cases: [cores: number, poolSize: string | undefined, threads: number][] = [
    [1, undefined, 2],
    [2, undefined, 3],
    [4, undefined, 3],
    [64, undefined, 3],
    [64, '17', 16],
    [8, '17', 9],
    [8, '2', 1],
    [8, '1', 1],
    [8, 'many', 1],
    [8, '-3', 1],
    [4096, '9999', 1023],
  ]
  for (const [cores, poolSize, threads] of cases) assert.equal(hashingThreads(cores, poolSize), threads, `${cores} cores, ${poolSize}`)
})

test('on a machine with 16 cores, files and DNS do not wait for passwords', () => {
  const script = fileURLToPath(new URL('../support/processes/hashing-process.ts', import.meta.url))
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env
  const finished = JSON.parse(execFileSync(process.execPath, [script], { env, encoding: 'utf8' }))
  assert.deepEqual(finished.toSorted(), ['dns', 'file'], 'no password was hashed meanwhile')
})
