import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { UserSearch } from '../../../../src/model/user.ts'
import { type Database, statement } from '../../../../src/storage/database.ts'
import { MIGRATIONS_FOLDER } from '../../../../src/storage/migrations.ts'
import { openPostgres } from '../../../../src/storage/postgres/driver.ts'
import { migratePostgres } from '../../../../src/storage/postgres/migrations.ts'
import { searchUsers } from '../../../../src/storage/repositories/users/user-search.repository.ts'
import { emptyPostgres, temporaryFolder } from '../../../support/databases/databases.ts'

const ADD = statement(`
  insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, created_at)
  values ('Mia@example.com', 'mia@example.com', '', 'Mia', 'mia', 'Muster', 'muster', 'user', 0)`)
const EDIT = statement("update users set last_name = 'Neu', last_name_folded = 'neu', last_login_at = 1")
const COPIES = statement('select user_id, email_key, first_name_folded, last_name_folded from users_search')

/** Runs SQL with an empty search path, as pg_restore does. */
function withoutPath(db: Database, sql: string): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.run(statement("select set_config('search_path', '', true)"))
    await tx.run(statement(sql))
  })
}

async function found(db: Database, term: string, isExact: boolean): Promise<number> {
  const search: UserSearch = { term, field: 'all', isExact, page: 1, size: 50 }
  const { total, users } = await searchUsers(db, search)
  assert.equal(users.length, total)
  return total
}

test('PostgreSQL: users that existed before the search table are found like later ones', async (t) => {
  const url = await emptyPostgres(t)
  const before = temporaryFolder(t)
  for (const name of ['0001-accounts.sql', '0002-search.sql']) cpSync(join(MIGRATIONS_FOLDER, 'postgres', name), join(before, name))
  await migratePostgres(url, { folder: before })
  const db = openPostgres({ url: url })
  t.after(() => db.close())
  await db.run(ADD)
  await migratePostgres(url)
  assert.deepEqual([await found(db, 'ust', false), await found(db, 'muster', true), await found(db, 'mia@EXAMPLE.com', true)], [1, 1, 1])
  await db.run(EDIT)
  assert.deepEqual([await found(db, 'ust', false), await found(db, 'muster', true), await found(db, 'neu', true)], [0, 0, 1])
  await withoutPath(db, ADD.sql.replace('users', 'public.users').replaceAll('ia@', 'ara@'))
  assert.equal(await found(db, 'mara@example.com', true), 1)
  await withoutPath(db, 'delete from public.users')
  assert.deepEqual(await db.all(COPIES), [])
})
