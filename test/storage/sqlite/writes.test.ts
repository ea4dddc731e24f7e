import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { Refusal } from '../../../src/model/refusal.ts'
import { createWriteQueue, type WriteQueue, type WriteQueueParts } from '../../../src/storage/sqlite/writes.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'

type Scene = { readonly connection: DatabaseSync; readonly queue: WriteQueue; write(name: string): Promise<string>; committed(): unknown[] }

function openQueue(t: TestContext, parts: Partial<WriteQueueParts> = {}): Scene {
  const file = join(temporaryFolder(t), 'test.db')
  const connection = new DatabaseSync(file)
  connection.exec('pragma journal_mode = wal; create table things (name text unique)')
  const reader = new DatabaseSync(file, { readOnly: true })
  t.after(() => {
    reader.close()
    connection.close()
  })
  // On a busy machine as well, what comes together is in one round.
  const patient = { deadlineMs: 30_000, roundMs: 30_000 }
  const queue = createWriteQueue({ connection, ...patient, beforeCommit: () => {}, requireKept: () => {}, ...parts })
  const insert = connection.prepare('insert into things values (?)')
  const write = (name: string) =>
    queue.add(async () => {
      insert.run(name)
      return name
    })
  const names = reader.prepare('select name from things order by name')
  return { connection, queue, write, committed: () => names.all().map(({ name }) => name) }
}

/** What became of each: its result, or the code or message of what it failed with. */
async function outcomes(writes: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(writes)
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason instanceof Refusal ? one.reason.code : 'an error'))
}

function holdEventLoop(ms: number): void {
  const endsAt = performance.now() + ms
  while (performance.now() < endsAt);
}

/** How many turns the event loop has made since. */
function countTurns(t: TestContext): () => number {
  let turns = 0
  let isOver = false
  t.after(() => {
    isOver = true
  })
  function turn(): void {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => turns
}

test('writes that come together are committed together, and answered after that', async (t) => {
  let commits = 0
  const { write, committed } = openQueue(t, { beforeCommit: () => commits++ })
  const first = write('a').then(committed)
  const results = await outcomes([write('b'), write('c'), write('d')])
  assert.deepEqual(await first, ['a', 'b', 'c', 'd'])
  assert.deepEqual([results, commits], [['b', 'c', 'd'], 1])
})

test('of writes that are committed together, one that fails is undone whole and alone', async (t) => {
  const { connection, queue, write, committed } = openQueue(t)
  const refused = queue.add(async () => {
    connection.exec("insert into things values ('half')")
    throw new Refusal('email_taken')
  })
  assert.deepEqual(await outcomes([write('a'), refused, write('a'), write('b')]), ['a', 'email_taken', 'an error', 'b'])
  assert.deepEqual(committed(), ['a', 'b'])
})

test('a commit that fails fails all that it was for, also what was refused on account of the others', async (t) => {
  let isBroken = true
  const beforeCommit = () => {
    if (isBroken) throw new Refusal('unavailable')
  }
  const { write, committed } = openQueue(t, { beforeCommit })
  assert.deepEqual(await outcomes([write('a'), write('a'), write('b')]), ['unavailable', 'unavailable', 'unavailable'])
  assert.deepEqual(committed(), [])
  isBroken = false
  assert.deepEqual(await outcomes([write('a')]), ['a'])
})

test('a fault that undoes the whole transaction is told to all who were in it, and to nobody else', async (t) => {
  const { connection, queue, write, committed } = openQueue(t)
  const before = write('before')
  const fatal = queue.add(async () => {
    connection.exec('rollback')
    throw new Refusal('email_taken')
  })
  assert.deepEqual(await outcomes([before, fatal, write('behind')]), ['unavailable', 'unavailable', 'behind'])
  assert.deepEqual(committed(), ['behind'])
})

test('what is committed to files that are not in their place is not acknowledged, and nothing more is written', async (t) => {
  let isInPlace = true
  const requireKept = () => {
    if (!isInPlace) throw new Refusal('unavailable')
  }
  const { connection, queue, write, committed } = openQueue(t, { requireKept })
  const lastOne = queue.add(async () => {
    connection.exec("insert into things values ('last')")
    isInPlace = false
  })
  assert.deepEqual(await outcomes([lastOne]), ['unavailable'])
  assert.deepEqual(await outcomes([write('a')]), ['unavailable'])
  assert.deepEqual(committed(), ['last'])
})

test('a write that cannot begin within its deadline is refused, and not done', async (t) => {
  const { queue, write, committed } = openQueue(t, { deadlineMs: 500, roundMs: 20 })
  const slow = queue.add(async () => holdEventLoop(550))
  const late = write('late')
  await assert.rejects(late, { code: 'unavailable', message: 'SQLite: a write could not begin within 500 ms' })
  assert.equal(await slow, undefined)
  assert.deepEqual(await outcomes([write('next')]), ['next'])
  assert.deepEqual(committed(), ['next'])
})

test('many writes leave turns to the event loop', async (t) => {
  const { queue } = openQueue(t, { roundMs: 20 })
  const turns = countTurns(t)
  await Promise.all(Array.from({ length: 40 }, () => queue.add(async () => holdEventLoop(10))))
  assert.ok(turns() >= 10, `the event loop turned ${turns()} times during 400 ms of writing`)
})

test('after a slow commit all that has come in meanwhile has its turn', async (t) => {
  const { queue } = openQueue(t, { beforeCommit: () => holdEventLoop(200) })
  const turns = countTurns(t)
  const first = await queue.add(async () => turns())
  const second = await queue.add(async () => turns())
  assert.ok(second - first >= 20, `the event loop turned ${second - first} times between two slow commits`)
})
