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
  // Long enough for one batch, even on a busy machine.
  const patient = { deadlineMs: 30_000, batchMs: 30_000 }
  const queue = createWriteQueue({ connection, ...patient, requireFiles: () => {}, ...parts })
  const insert = connection.prepare('insert into things values (?)')
  const write = (name: string) =>
    queue.add(async () => {
      insert.run(name)
      return name
    })
  const names = reader.prepare('select name from things order by name')
  return { connection, queue, write, committed: () => names.all().map(({ name }) => name) }
}

/** The result of each write, or the code of its refusal. */
async function outcomes(writes: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(writes)
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason instanceof Refusal ? one.reason.code : 'an error'))
}

function holdEventLoop(ms: number): void {
  const endsAt = performance.now() + ms
  while (performance.now() < endsAt);
}

/** Counts the turns of the event loop from now on. */
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

test('writes that arrive together share one commit, and settle after it', async (t) => {
  const { connection, write, committed } = openQueue(t)
  const exec = t.mock.method(connection, 'exec')
  const first = write('a').then(committed)
  const results = await outcomes([write('b'), write('c'), write('d')])
  assert.deepEqual(await first, ['a', 'b', 'c', 'd'])
  const commits = exec.mock.calls.filter((call) => call.arguments[0] === 'commit')
  assert.deepEqual([results, commits.length], [['b', 'c', 'd'], 1])
})

test('a write that fails is rolled back whole, and the others in its batch are committed', async (t) => {
  const { connection, queue, write, committed } = openQueue(t)
  const refused = queue.add(async () => {
    connection.exec("insert into things values ('half')")
    throw new Refusal('email_taken')
  })
  assert.deepEqual(await outcomes([write('a'), refused, write('a'), write('b')]), ['a', 'email_taken', 'an error', 'b'])
  assert.deepEqual(committed(), ['a', 'b'])
})

test('a failed commit rejects every write of its batch, also one that was refused because of another', async (t) => {
  const { connection, queue, write, committed } = openQueue(t)
  connection.exec('pragma foreign_keys = on; create table parts (thing text references things (name) deferrable initially deferred)')
  // SQLite checks a deferred reference when it commits.
  const orphan = queue.add(async () => connection.exec("insert into parts values ('nothing')"))
  const refused = queue.add(async () => {
    throw new Refusal('email_taken')
  })
  assert.deepEqual(await outcomes([write('a'), orphan, refused, write('b')]), ['an error', 'an error', 'an error', 'an error'])
  assert.deepEqual(committed(), [])
  assert.deepEqual(await outcomes([write('a')]), ['a'])
})

test('an error that rolls back the whole transaction rejects the writes in it, and no others', async (t) => {
  const { connection, queue, write, committed } = openQueue(t)
  const before = write('before')
  const fatal = queue.add(async () => {
    connection.exec('rollback')
    throw new Refusal('email_taken')
  })
  assert.deepEqual(await outcomes([before, fatal, write('behind')]), ['unavailable', 'unavailable', 'behind'])
  assert.deepEqual(committed(), ['behind'])
})

test('unavailable: a commit to files that were moved is not acknowledged, and later writes are refused', async (t) => {
  let isInPlace = true
  const requireFiles = () => {
    if (!isInPlace) throw new Refusal('unavailable')
  }
  const { connection, queue, write, committed } = openQueue(t, { requireFiles })
  const lastOne = queue.add(async () => {
    connection.exec("insert into things values ('last')")
    isInPlace = false
  })
  assert.deepEqual(await outcomes([lastOne]), ['unavailable'])
  assert.deepEqual(await outcomes([write('a')]), ['unavailable'])
  assert.deepEqual(committed(), ['last'])
})

test('unavailable: a write that cannot begin within its deadline does not run', async (t) => {
  const { queue, write, committed } = openQueue(t, { deadlineMs: 500, batchMs: 20 })
  const slow = queue.add(async () => holdEventLoop(550))
  const late = write('late')
  await assert.rejects(late, { code: 'unavailable', message: 'SQLite: a write could not begin within 500 ms' })
  assert.equal(await slow, undefined)
  assert.deepEqual(await outcomes([write('next')]), ['next'])
  assert.deepEqual(committed(), ['next'])
})

test('other work runs between many writes', async (t) => {
  const { queue } = openQueue(t, { batchMs: 20 })
  const turns = countTurns(t)
  await Promise.all(Array.from({ length: 40 }, () => queue.add(async () => holdEventLoop(10))))
  assert.ok(turns() >= 10, `the event loop turned ${turns()} times during 400 ms of writing`)
})

test('other work runs after a slow commit, before the next write', async (t) => {
  const { connection, queue } = openQueue(t)
  const exec = connection.exec.bind(connection)
  t.mock.method(connection, 'exec', (sql: string) => {
    if (sql === 'commit') holdEventLoop(200)
    exec(sql)
  })
  const turns = countTurns(t)
  const first = await queue.add(async () => turns())
  const second = await queue.add(async () => turns())
  assert.ok(second - first >= 20, `the event loop turned ${second - first} times between two slow commits`)
})
