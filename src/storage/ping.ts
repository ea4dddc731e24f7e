import { type Queries, statement } from './database.ts'

const PING = statement('select 1 as alive')

/** Throws `unavailable` when the database does not answer. */
export async function ping(db: Queries): Promise<void> {
  await db.first(PING)
}
