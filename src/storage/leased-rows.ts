import { type Queries, type SqlText, statement, type Value } from './database.ts'
import { changes, countsChanges } from './repository-functions.ts'
import { around, deleteListed } from './tables.ts'

export type Claim = {
  readonly lease: string
  readonly leaseEndsAt: number
  readonly now: number
  readonly limit: number
  /** Whether to claim entries of other processes too, after the end of their leases. */
  readonly takesOver: boolean
}

type Leased = { readonly id: number; readonly lease: string }

/**
 * What mails and webhooks have in common: rows of an outbox that one process at a time sends, under a lease. While a row is leased, `due_at`
 * is the end of the lease.
 */
export function leasedRows(table: 'outbox' | 'webhook_deliveries') {
  /** A change under a lease, with values from `$3` on. It does nothing once another process has taken over. */
  function underLease<Values extends readonly Value[]>(set: string, condition = 'true') {
    const declared = statement(`update ${table} set ${set} where id = $1 and lease = $2 and ${condition}`)
    return async (db: Queries, { id, lease }: Leased, ...values: Values) => void (await db.run(declared, id, lease, ...values))
  }
  return {
    // Renewals may overtake each other on their way to PostgreSQL: an earlier one must not shorten the lease.
    extendLease: underLease<[leaseEndsAt: number]>('due_at = $3', 'due_at < $3'),
    /** Ends the lease of a row that was not tried; it is due at once. */
    release: underLease<[now: number]>('lease = null, due_at = $3'),
    /** Puts a row off that was not accepted. */
    postpone: underLease<[dueAt: number, reason: string]>('lease = null, attempts = attempts + 1, due_at = $3, last_error = $4'),
    /** Ends the lease of a row as if it were new; it is due at once. */
    requeue: underLease<[now: number]>('lease = null, due_at = $3, attempts = 0'),
    /** Marks a row as failed. */
    giveUp: underLease<[now: number, reason: string]>('lease = null, attempts = attempts + 1, failed_at = $3, last_error = $4'),
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
  return around({ postgres: 'for update skip locked', sqlite: '' }, sql)
}
