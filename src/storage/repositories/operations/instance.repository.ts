import { type Reads, statement } from '../../database.ts'

const READ = statement<{ id: string }>('select id from instance')

/** The random id of this database: the same in every process that uses it, different in every other database. */
export async function readInstanceId(db: Reads): Promise<string> {
  const row = await db.first(READ)
  if (row === undefined) throw new Error('the table instance is empty; restore a backup of the database')
  return row.id
}
