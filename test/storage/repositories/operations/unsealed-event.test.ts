import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { findOldestUnsealed, findUnsealed } from '../../../../src/storage/repositories/audit/event-seal.repository.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

const COLUMNS = '(id, at, kind, via, salt, mac, mac_key)'
const VALUES = "values ($1, $1, 'user.registered', 'http', 'salt', 'mac', 'key')"
const INSERT_EVENT = statement({
  postgres: `insert into events ${COLUMNS} overriding system value ${VALUES}`,
  sqlite: `insert into events ${COLUMNS} ${VALUES}`,
})
const CONTINUE_IDS = statement({
  postgres: "select setval(pg_get_serial_sequence('events', 'id'), (select max(id) from events))",
  sqlite: 'select 1',
})
const INSERT_LINK = statement(`
  insert into event_seals (position, event_id, sealed_at, digest, hash, mac, mac_key) values ($1, $2, 1, 'digest', 'hash', 'mac', 'key')`)
const MARK_END = statement(`
  insert into audit_marks (name, position, hash, marked_at, mac, mac_key) values ('head', $1, 'hash', 1, 'mac', 'key')`)

test('after a late event was sealed last, the search for unsealed ones does not start from its id', async (t) => {
  const { db } = await startApp(t)
  const [late, between, highest] = [100_000, 101_000, 105_000]
  for (const id of [late, between, highest]) await db.run(INSERT_EVENT, id)
  await db.first(CONTINUE_IDS)
  await db.run(INSERT_LINK, 1, highest)
  await db.run(INSERT_LINK, 2, late)
  await db.run(MARK_END, 2)
  const idsOf = async (isThorough: boolean) =>
    (await db.transaction((tx) => findUnsealed(tx, { afterId: 0, limit: 10, isThorough }))).map(({ id }) => id).filter((id) => id >= late)
  assert.deepEqual(await idsOf(false), [])
  assert.equal(await findOldestUnsealed(db), undefined)
  assert.deepEqual(await idsOf(true), [between])
  await db.run(INSERT_EVENT, highest + 1)
  assert.deepEqual(await idsOf(false), [highest + 1])
  assert.equal(await findOldestUnsealed(db), highest + 1)
})
