import { type Queries, statement } from './database.ts'

export type MailKind = 'verify' | 'reset'

// A mail that is still pending is not asked for twice; one that was given up is tried anew.
const ENQUEUE = statement(`
  insert into outbox (kind, recipient, created_at, due_at) values ($1, $2, $3, $3)
  on conflict (kind, recipient) do update
  set revision = outbox.revision + 1, attempts = 0, due_at = excluded.due_at, last_error = null, failed_at = null`)

/** Asks for a mail. Whether an account belongs to the address is looked at when it is sent, not now. */
export async function enqueueMail(db: Queries, kind: MailKind, recipient: string, now: number): Promise<void> {
  await db.run(ENQUEUE, kind, recipient, now)
}
