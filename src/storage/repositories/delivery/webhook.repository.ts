import type { ClaimedWebhook, WebhookEvent, WebhookType } from '../../../model/webhook.ts'
import { type FinalStatement, type Queries, statement } from '../../database.ts'
import { type Claim, leasedRows, skippingLocked } from './leased-rows.ts'

export type WebhookEventRow = {
  readonly id: number
  readonly message_id: string
  readonly type: WebhookType
  readonly user_id: number
  readonly key_id: string | null
  readonly session_id: string | null
  readonly occurred_at: number
  readonly requested_at: number
  readonly attempts: number
}

export const EVENT_COLUMNS = 'id, message_id, type, user_id, key_id, session_id, occurred_at, requested_at, attempts'

// A later event of a user overtakes an earlier one only after so many failed attempts of the earlier one. Until then the pauses are short.
const ATTEMPTS_IN_ORDER = 4
// Bounds the work of one claim when thousands of webhooks of a single user wait for their turn.
const CLAIM_WINDOW = 1000
// More than one process claims at once, so that several processes find different ones.
const CANDIDATES = 32

export const {
  extendLease: extendWebhookLease,
  release: releaseWebhook,
  postpone: postponeWebhook,
  retry: retryWebhook,
  discard: discardWebhook,
  forgetFailed: forgetFailedWebhooks,
} = leasedRows('webhook_deliveries')

const INSERT = statement(`
  insert into webhook_deliveries (message_id, type, user_id, key_id, session_id, occurred_at, requested_at, due_at)
  values ($1, $2, $3, $4, $5, $6, $6, $6)`)
const CLAIM = skippingLocked<WebhookEventRow>(
  (skipLocked) => `
  with candidates as materialized (
    select id from (
      select id, user_id from webhook_deliveries
      where failed_at is null and due_at <= $3 and (lease is null or $5) order by due_at, id limit ${CLAIM_WINDOW}
    ) as delivery
    where not exists (select 1 from webhook_stops where endpoint = $6)
      and not exists (
        select 1 from webhook_deliveries as earlier
        where earlier.user_id = delivery.user_id and earlier.id < delivery.id and earlier.failed_at is null
          and (earlier.attempts < ${ATTEMPTS_IN_ORDER} or earlier.due_at <= $3 or earlier.lease is not null)
      )
    limit ${CANDIDATES}
  ), due as materialized (
    select id from webhook_deliveries
    where id in (select id from candidates) and failed_at is null and due_at <= $3 and (lease is null or $5)
    order by due_at, id limit $4 ${skipLocked}
  )
  update webhook_deliveries set lease = $1, due_at = $2 where id in (select id from due)
  returning ${EVENT_COLUMNS}`,
)
const HOLD_BACK = statement(`
  update webhook_deliveries set due_at = $3
  where user_id = $1 and id > $2 and failed_at is null and lease is null and due_at < $3`)
const REMOVE = statement('delete from webhook_deliveries where id = $1')
const GIVE_UP = statement(`
  update webhook_deliveries set lease = null, attempts = attempts + 1, failed_at = $3, last_error = $4 where id = $1 and lease = $2`)
const STOP = statement('insert into webhook_stops (endpoint, stopped_at) values ($1, $2) on conflict (endpoint) do nothing')
const RESUME = statement('delete from webhook_stops')
// In the order of the index of those that wait: batches do not pass what earlier ones have marked.
const EXPIRE = statement(`
  update webhook_deliveries set failed_at = $2, last_error = $5 where id in (
    select id from webhook_deliveries
    where failed_at is null and lease is null and requested_at <= $1 and exists (select 1 from webhook_stops where endpoint = $4)
    order by due_at, id limit $3)`)

/** Queues a webhook, in the transaction of the change that it reports. */
export function insertWebhook(event: WebhookEvent): FinalStatement {
  const { messageId, type, userId, keyId = null, sessionId = null, occurredAt } = event
  return { statement: INSERT, values: [messageId, type, userId, keyId, sessionId, occurredAt] }
}

/**
 * Claims webhooks that are due, the longest due first; none if the receiver has answered 410. A webhook waits for the earlier ones of its user:
 * those that are due or being sent, and those that failed a few times only.
 */
export async function claimWebhooks(db: Queries, endpoint: string, claim: Claim): Promise<ClaimedWebhook[]> {
  const { lease, leaseEndsAt, now, limit, takesOver } = claim
  const rows = await db.all(CLAIM, lease, leaseEndsAt, now, limit, takesOver, endpoint)
  return rows.map((row) => ({ ...toWebhookEvent(row), id: row.id, requestedAt: row.requested_at, attempts: row.attempts, lease }))
}

/**
 * Lets the later webhooks of a user wait as long as an earlier one that was postponed and that they must not overtake. Thousands of them
 * that are due would otherwise leave no room in a claim for those of other users.
 */
export async function holdBackWebhooks(db: Queries, { userId, id, attempts }: ClaimedWebhook, dueAt: number): Promise<void> {
  if (attempts + 1 < ATTEMPTS_IN_ORDER) await db.run(HOLD_BACK, userId, id, dueAt)
}

/** Removes a webhook that was delivered, even if another process has taken over meanwhile: it need not arrive a third time. */
export async function removeWebhook(db: Queries, { id }: ClaimedWebhook): Promise<void> {
  await db.run(REMOVE, id)
}

/** Marks a webhook as failed. Returns false if another process has taken over. */
export async function giveUpWebhook(db: Queries, { id, lease }: ClaimedWebhook, now: number, reason: string): Promise<boolean> {
  return (await db.run(GIVE_UP, id, lease, now, reason)) > 0
}

/** Stops all deliveries to a receiver, in every process. */
export async function stopWebhooks(db: Queries, endpoint: string, now: number): Promise<void> {
  await db.run(STOP, endpoint, now)
}

/** Ends every stop. Returns false if there was none. */
export async function resumeWebhooks(db: Queries): Promise<boolean> {
  return (await db.run(RESUME)) > 0
}

/** Marks webhooks as failed that were requested before the given time and wait for a receiver that has answered 410. Returns how many. */
export function expireStoppedWebhooks(
  db: Queries,
  { before, now, batch, endpoint, reason }: { before: number; now: number; batch: number; endpoint: string; reason: string },
): Promise<number> {
  return db.run(EXPIRE, before, now, batch, endpoint, reason)
}

export function toWebhookEvent(row: WebhookEventRow): WebhookEvent {
  return {
    messageId: row.message_id,
    type: row.type,
    userId: row.user_id,
    keyId: row.key_id ?? undefined,
    sessionId: row.session_id ?? undefined,
    occurredAt: row.occurred_at,
  }
}
