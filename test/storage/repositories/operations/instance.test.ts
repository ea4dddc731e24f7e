import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import type { DatabaseTarget } from '../../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../../src/storage/open.ts'
import { readInstanceId } from '../../../../src/storage/repositories/operations/operations.repository.ts'
import { type ContractContext, freshDatabase, temporaryFolder, test } from '../../../support/databases/databases.ts'
import { emptyDatabase } from '../../../support/databases/later-schema.ts'

async function newDatabase(t: ContractContext) {
  const target = await emptyDatabase(t, t.database)
  await migrate(target)
  return target
}

async function idOf(target: DatabaseTarget): Promise<string> {
  const db = await openDatabase(target)
  try {
    return await readInstanceId(db)
  } finally {
    await db.close()
  }
}

test('every database has its own id, which survives a restart', async (t) => {
  const [one, other] = [await newDatabase(t), await newDatabase(t)]
  const id = await idOf(one)
  assert.match(id, /^[0-9a-f]{32}$/)
  await migrate(one)
  assert.equal(await idOf(one), id)
  assert.notEqual(await idOf(other), id)
})

plainTest('SQLite: a copy of a database file has the id of the original', async (t) => {
  const target = await freshDatabase(t, 'sqlite')
  if (target.kind !== 'sqlite') throw new Error('not SQLite')
  await migrate(target)
  const id = await idOf(target)
  const copy = join(temporaryFolder(t), 'copy.db')
  cpSync(target.file, copy)
  assert.equal(await idOf({ kind: 'sqlite', file: copy }), id)
})
