import { type Queries, statement } from '../../database.ts'

// Matches no row. It is a write because a database that is read-only, or locked by another process, cannot serve requests.
const PING = statement("delete from sessions where id = ''")

/** Throws `unavailable` if the database does not respond or rejects writes. */
export async function ping(db: Queries): Promise<void> {
  await db.run(PING)
}
