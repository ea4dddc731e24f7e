import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createWriteQueue } from '../../../src/cli/import/batch.ts'

/** A write that ends when it is told to. */
function openWrite() {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let isBegun = false
  const write = () => {
    isBegun = true
    return promise
  }
  return { write, end: resolve, fail: reject, isBegun: () => isBegun }
}

const names = (...given: string[]) => new Set(given)

test('as many batches as allowed are written at a time', async () => {
  const queue = createWriteQueue(2)
  const [first, second, third] = [openWrite(), openWrite(), openWrite()]
  await queue.add(names('a'), first.write)
  await queue.add(names('b'), second.write)
  const added = queue.add(names('c'), third.write)
  await turn()
  assert.deepEqual(
    [first, second, third].map(({ isBegun }) => isBegun()),
    [true, true, false],
  )
  second.end()
  await added
  assert.equal(third.isBegun(), true)
  first.end()
  third.end()
  await queue.end()
})

test('a batch with an address or a key of one that is being written waits for it', async () => {
  const queue = createWriteQueue(3)
  const [first, unrelated, second] = [openWrite(), openWrite(), openWrite()]
  await queue.add(names('a', 'b'), first.write)
  await queue.add(names('x'), unrelated.write)
  const added = queue.add(names('c', 'b'), second.write)
  unrelated.end()
  await turn()
  assert.equal(second.isBegun(), false)
  first.end()
  await added
  assert.equal(second.isBegun(), true)
  second.end()
  await queue.end()
})

test('a failed batch stops the next ones, and the end waits for those that still run', async () => {
  const queue = createWriteQueue(2)
  const [failing, running, next] = [openWrite(), openWrite(), openWrite()]
  await queue.add(names('a'), failing.write)
  await queue.add(names('b'), running.write)
  failing.fail(new Error('no space left'))
  await assert.rejects(queue.add(names('c'), next.write), /no space left/)
  assert.equal(next.isBegun(), false)
  let hasEnded = false
  const ended = assert.rejects(queue.end(), /no space left/).then(() => {
    hasEnded = true
  })
  await turn()
  assert.equal(hasEnded, false)
  running.end()
  await ended
})
