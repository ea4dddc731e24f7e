import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '../../src/model/refusal.ts'
import { createPasswordQueue } from '../../src/security/password-queue.ts'

const MAX_WAIT_MS = 2000

/** A queue with one slot, a clock, and works that end when they are told to. */
function place() {
  let time = 0
  const queue = createPasswordQueue(1, MAX_WAIT_MS, () => time)
  const started: string[] = []
  const endings = new Map<string, () => void>()
  const enter = (name: string, signal?: AbortSignal) =>
    queue.run(() => {
      started.push(name)
      const { promise, resolve } = Promise.withResolvers<string>()
      endings.set(name, () => resolve(name))
      return promise
    }, signal)
  // Work starts in a later turn than it arrives, and the next one in a later turn than it ends.
  const end = async (name: string) => {
    await nextTurn()
    endings.get(name)?.()
    await nextTurn()
  }
  const pass = (ms: number) => {
    time += ms
  }
  return { queue, enter, end, pass, started }
}

test('work whose turn comes too late is refused and not started, and the next one takes the slot', async () => {
  const { queue, enter, end, pass, started } = place()
  const first = enter('first')
  const early = enter('early')
  pass(MAX_WAIT_MS / 2)
  const late = enter('late')
  pass(MAX_WAIT_MS / 2 + 1)
  const refused = assert.rejects(early, (error) => error instanceof Refusal && error.code === 'unavailable')
  await end('first')
  await refused
  assert.deepEqual([await first, started, queue.waiting()], ['first', ['first', 'late'], 0])
  await end('late')
  assert.equal(await late, 'late')
  const next = enter('next')
  await end('next')
  assert.equal(await next, 'next', 'the slot is free again')
})

test('a client that disconnects after its refusal takes no place from others, and refused work counts as waiting', async () => {
  const { queue, enter, end, pass, started } = place()
  const gone = new AbortController()
  const first = enter('first')
  await nextTurn()
  const refused = assert.rejects(enter('late', gone.signal), Refusal)
  pass(MAX_WAIT_MS + 1)
  const others = [enter('second'), enter('third')]
  await end('first')
  await refused
  gone.abort()
  assert.deepEqual([queue.waiting(), queue.waitedMs()], [1, MAX_WAIT_MS + 1])
  await end('second')
  await end('third')
  assert.deepEqual(await Promise.all([first, ...others]), ['first', 'second', 'third'])
  assert.deepEqual(started, ['first', 'second', 'third'])
})

test('work that has waited as long as allowed is started', async () => {
  const { enter, end, pass, started } = place()
  const first = enter('first')
  const second = enter('second')
  pass(MAX_WAIT_MS)
  await end('first')
  assert.deepEqual(started, ['first', 'second'])
  await end('second')
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second'])
})

test('if all that wait are too late, the slot is free', async () => {
  const { queue, enter, end, pass, started } = place()
  const first = enter('first')
  const refused = ['second', 'third'].map((name) => assert.rejects(enter(name), Refusal))
  pass(MAX_WAIT_MS + 1)
  await end('first')
  await Promise.all(refused)
  assert.equal(await first, 'first')
  const next = enter('next')
  await end('next')
  assert.deepEqual([await next, started, queue.waiting()], ['next', ['first', 'next'], 0])
})

test('there is room until the expected wait is too long', async () => {
  const { queue, enter, end, pass } = place()
  const slow = enter('slow')
  await nextTurn()
  pass(100 * MAX_WAIT_MS)
  await end('slow')
  assert.equal(await slow, 'slow')
  queue.requireRoom()
  const running = enter('running')
  assert.throws(queue.requireRoom, (error) => error instanceof Refusal && error.code === 'unavailable')
  await assert.rejects(enter('refused'), Refusal)
  await end('running')
  assert.equal(await running, 'running')
  queue.requireRoom()
})
