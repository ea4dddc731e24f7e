import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createReaderThread, type ReaderThread } from '../../../src/storage/sqlite/reader.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'

const COUNT_TO = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)'
const ENDLESS = `${COUNT_TO} select count(*) as count from n`

function openThread(t: TestContext, deadlineMs = 30_000): { thread: ReaderThread; file: string } {
  const file = join(temporaryFolder(t), 'test.db')
  const connection = new DatabaseSync(file)
  connection.exec("pragma journal_mode = wal; create table things (name text); insert into things values ('a'), ('b')")
  connection.close()
  const thread = createReaderThread(file, deadlineMs)
  t.after(() => thread.close())
  return { thread, file }
}

async function names(thread: ReaderThread): Promise<unknown[]> {
  return (await thread.all('select name from things order by name', [])).map((row) => (row as { name: string }).name)
}

test('long reads leave the event loop free', async (t) => {
  const { thread } = openThread(t)
  await names(thread)
  let isDone = false
  const reading = thread.all(ENDLESS, [3_000_000]).finally(() => {
    isDone = true
  })
  let turns = 0
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    turns++
  }
  assert.deepEqual(
    (await reading).map((row) => ({ ...(row as object) })),
    [{ count: 3_000_000 }],
  )
  assert.ok(turns > 100, `the event loop turned ${turns} times while a long statement ran`)
})

test('concurrent reads each get their own result', async (t) => {
  const { thread } = openThread(t)
  const results = await Promise.all([1, 2, 3].map((n) => thread.all('select ?1 as n', [n])))
  assert.deepEqual(
    results.map(([row]) => (row as { n: number }).n),
    [1, 2, 3],
  )
})

test('unavailable: a statement that takes too long is refused, and the next one is served', async (t) => {
  const { thread } = openThread(t, 500)
  const overdue = thread.all(ENDLESS, [4_000_000])
  const behind = names(thread)
  await Promise.all([
    assert.rejects(overdue, { code: 'unavailable', message: 'SQLite: a long read took longer than 500 ms' }),
    assert.rejects(behind, { code: 'unavailable' }),
  ])
  assert.deepEqual(await names(persistent(thread)), ['a', 'b'])
})

/** Retries until a new thread has started, which may take longer than the short deadline of the test. */
function persistent(thread: ReaderThread): ReaderThread {
  const all: ReaderThread['all'] = (sql, values) => thread.all(sql, values).catch(() => all(sql, values))
  return { all, close: thread.close }
}

test('a wrong statement is an error, and nothing is written through the thread', async (t) => {
  const { thread } = openThread(t)
  await assert.rejects(thread.all('select absent from things', []), { message: 'no such column: absent' })
  await assert.rejects(thread.all("insert into things values ('c')", []), { code: 'unavailable' })
  assert.deepEqual(await names(thread), ['a', 'b'])
})

test('if a thread dies, only its statement fails, and a new thread serves the next one', async (t) => {
  const { thread, file } = openThread(t)
  // A thread without a database file ends when it starts.
  await rename(file, `${file}.away`)
  await assert.rejects(names(thread), { code: 'unavailable', message: /^SQLite: the reading thread has ended/ })
  await rename(`${file}.away`, file)
  assert.deepEqual(await names(thread), ['a', 'b'])
})

test('unavailable: a closed thread refuses waiting and new reads', async (t) => {
  const { thread } = openThread(t)
  const waiting = names(thread)
  const refused = assert.rejects(waiting, { code: 'unavailable', message: 'SQLite: the database is closed' })
  await thread.close()
  await refused
  await assert.rejects(names(thread), { code: 'unavailable', message: 'SQLite: the database is closed' })
})
