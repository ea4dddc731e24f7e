import { type Queries, type Reads, statement } from '../../database.ts'
import { runs } from '../../repository-functions.ts'

const READ_INSTANCE = statement<{ id: string }>('select id from instance')

/** The random id of this database: the same in every process that uses it, different in every other database. */
export async function readInstanceId(db: Reads): Promise<string> {
  const row = await db.first(READ_INSTANCE)
  if (row === undefined) throw new Error('the table instance is empty; restore a backup of the database')
  return row.id
}

/**
 * Throws `unavailable` if the database does not respond or rejects writes. It is a write that matches no row, because a database that is
 * read-only, or locked by another process, cannot serve requests.
 */
export const ping = runs<Queries, []>("delete from sessions where id = ''")
