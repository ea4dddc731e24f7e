import { type Queries, statement } from '../database.ts'

// Matches nothing. It is a write, because a database that is read-only, or locked by another process, cannot serve.
const PING = statement("delete from sessions where id = ''")

/** Throws `unavailable` when the database does not answer, or takes no writes. */
export async function ping(db: Queries): Promise<void> {
  await db.run(PING)
}
