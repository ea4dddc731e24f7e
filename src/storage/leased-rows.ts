import { changes, countsChanges, type Queries, type SqlText, statement } from './database.ts'
import { deleteListed } from './tables.ts'

export type Claim = {
  readonly lease: string
  readonly leaseEndsAt: number
  readonly now: number
  readonly limit: number
  /** Whether to claim entries of other processes too, after the end of their leases. */
  readonly takesOver: boolean
}

export type Leased = { readonly id: number; readonly lease: string }

/**
 * What mails and webhooks have in common: rows of an outbox that one process at a time sends, under a lease. While a row is leased, `due_at`
 * is the end of the lease. A change under a lease does nothing once another process has taken over.
 */
export function leasedRows(table: 'outbox' | 'webhook_deliveries') {
  const postpone = statement(`
    update ${table} set lease = null, attempts = attempts + 1, due_at = $3, last_error = $4 where id = $1 and lease = $2`)
  // Renewals may overtake each other on their way to PostgreSQL: an earlier one must not shorten the lease.
  const extend = statement(`update ${table} set due_at = $3 where id = $1 and lease = $2 and due_at < $3`)
  const release = statement(`update ${table} set lease = null, due_at = $3 where id = $1 and lease = $2`)
  return {
    async extendLease(db: Queries, { id, lease }: Leased, leaseEndsAt: number): Promise<void> {
      await db.run(extend, id, lease, leaseEndsAt)
    },
    /** Ends the lease of a row that was not tried; it is due at once. */
    async release(db: Queries, { id, lease }: Leased, now: number): Promise<void> {
      await db.run(release, id, lease, now)
    },
    /** Puts a row off that was not accepted. */
    async postpone(db: Queries, { id, lease }: Leased, dueAt: number, reason: string): Promise<void> {
      await db.run(postpone, id, lease, dueAt, reason)
    },
    /** Resets a row as if it were new, and due now. Returns false if there is none, or if it is being sent: it would be sent twice. */
    retry: changes<Queries, [id: number, now: number]>(`
      update ${table} set requested_at = $2, due_at = $2, attempts = 0, lease = null, last_error = null, failed_at = null
      where id = $1 and (lease is null or due_at <= $2)`),
    /** Deletes a row without sending it. Returns false if there is no such row, or if it is being sent. */
    discard: changes<Queries, [id: number, now: number]>(`delete from ${table} where id = $1 and (lease is null or due_at <= $2)`),
    /** Deletes at most `limit` rows that failed before the given time. Returns how many. It reads the whole table: call it rarely. */
    forgetFailed: countsChanges<Queries, [before: number, limit: number]>(
      deleteListed(table, 'id', `select id from ${table} where failed_at <= $1 order by id limit $2`),
    ),
  }
}

/** On PostgreSQL, processes skip the rows that another one has locked, and so never wait for each other. SQLite has one writer. */
export function skippingLocked(sql: (skipLocked: string) => string): SqlText {
  return { postgres: sql('for update skip locked'), sqlite: sql('') }
}
