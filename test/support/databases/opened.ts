import type { TestContext } from 'node:test'
import { type Database, type DatabaseTarget, statement, type Transaction } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { insertUser } from '../../../src/storage/repositories/users/user.repository.ts'
import { stopAfter } from '../app/cleanup.ts'
import { type ContractContext, freshDatabase, migrateFresh } from './databases.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')

export async function migrated(t: ContractContext): Promise<{ db: Database; target: DatabaseTarget }> {
  const target = await freshDatabase(t, t.database)
  await migrateFresh(target)
  return { target, db: await open(t, target) }
}

export async function open(t: TestContext, target: DatabaseTarget): Promise<Database> {
  const db = await openDatabase(target)
  stopAfter(t, () => db.close())
  return db
}

/** Adds a user. Given a database instead of a transaction, it opens one. */
export function addUser(db: Database | Transaction, emailKey: string): Promise<number | undefined> {
  if ('transaction' in db) return db.transaction((tx) => addUser(tx, emailKey))
  const names = { firstName: 'Mia', lastName: 'Muster' }
  return insertUser(db, { email: emailKey, emailKey, ...names, passwordHash: '', role: 'user', verified: true, createdAt: 0 })
}

export async function countUsers(db: Pick<Database, 'first'>): Promise<number> {
  return (await db.first(COUNT))?.count ?? -1
}
