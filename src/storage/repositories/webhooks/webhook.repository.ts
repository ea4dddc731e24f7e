import { computed, entity, instant, integer, optional, type ValuesOf } from '../../../model/entity.ts'
import {
  type ClaimedWebhook,
  OUTBOX_WEBHOOK,
  type OutboxWebhook,
  QUEUED_WEBHOOK,
  WEBHOOK_EVENT,
  type WebhookEvent,
} from '../../../model/webhook.ts'
import { type Database, type FinalStatement, longRead, type Queries, type Reads, statement } from '../../database.ts'
import { type Claim, leasedRows } from '../../leased-rows.ts'
import { changes, findsIn, runs } from '../../repository-functions.ts'

// A later event of a user overtakes an earlier one only after so many failed attempts of the earlier one. Until then the pauses are short.
// The index webhook_deliveries_in_order has this number too.
const ATTEMPTS_IN_ORDER = 4
// Bounds the work of one statement.
const BATCH = 250
// More than one process claims at once, so that several processes find different ones.
const CANDIDATES = 32

type Dialect = { readonly lock: string; readonly lockBoth: string; readonly precedes: string }

// Processes skip the rows that another one has locked. The condition can only be looked up by the index of user and id: PostgreSQL might
// otherwise read the ids of all users backwards.
const POSTGRES: Dialect = {
  lock: 'for update skip locked',
  lockBoth: 'for update of later skip locked for share of first skip locked',
  precedes: '(earlier.user_id, earlier.id) < (ready.user_id, ready.id)',
}
// One writer. An index finds both columns only if the first is compared by equality.
const SQLITE: Dialect = { lock: '', lockBoth: '', precedes: 'earlier.user_id = ready.user_id and earlier.id < ready.id' }

const leased = leasedRows('webhook_deliveries')
export const {
  extendLease: extendWebhookLease,
  release: releaseWebhook,
  retry: retryWebhook,
  discard: discardWebhook,
  forgetFailed: forgetFailedWebhooks,
} = leased

const INSERT = statement(`
  insert into webhook_deliveries (${WEBHOOK_EVENT.columnNames.join(', ')}, requested_at, due_at) values ($1, $2, $3, $4, $5, $6, $6, $6)`)
const CLAIM = statement({ postgres: claimIn(POSTGRES), sqlite: claimIn(SQLITE) }, QUEUED_WEBHOOK.fromRow)
const QUEUE_UP = statement({ postgres: queueUpIn(POSTGRES), sqlite: queueUpIn(SQLITE) })
const LET_PASS = statement('update webhook_deliveries set waits_for = null where waits_for = $1')
const REMOVE = statement('delete from webhook_deliveries where id = $1')
// In the order of the index of those that wait: batches do not pass what earlier ones have marked.
const EXPIRE = statement(`
  update webhook_deliveries set failed_at = $2, last_error = $5 where id in (
    select id from webhook_deliveries
    where failed_at is null and lease is null and requested_at <= $1 and exists (select 1 from webhook_stops where endpoint = $4)
    order by due_at, id limit $3)`)

const STATE = entity('webhook_deliveries', {
  pending: computed(integer, 'count(*) - count(failed_at)'),
  failed: computed(integer, 'count(failed_at)'),
  /** When the oldest pending webhook was requested. */
  oldestAt: computed(optional(instant), 'min(case when failed_at is null then requested_at end)'),
  /** When the receiver answered 410. */
  stoppedAt: computed(optional(instant), '(select stopped_at from webhook_stops where endpoint = $1)'),
})
/** The state of all webhooks together. */
export type WebhookState = ValuesOf<typeof STATE.fields>

const SELECT = `select ${OUTBOX_WEBHOOK.columns} from webhook_deliveries`
const LIST = statement(`${SELECT} where id > $1 order by id limit $2`, OUTBOX_WEBHOOK.fromRow)
// Passes those that wait.
const LIST_FAILED = longRead(`${SELECT} where id > $1 and failed_at is not null order by id limit $2`, OUTBOX_WEBHOOK.fromRow)
const MEASURE = statement(`select ${STATE.columns} from webhook_deliveries`, STATE.fromRow)

type WebhookPage = { readonly after: number; readonly size: number; readonly failedOnly: boolean }

/** Queues a webhook, in the transaction of the change that it reports. */
export function insertWebhook(event: WebhookEvent): FinalStatement {
  return { statement: INSERT, values: WEBHOOK_EVENT.toValues(event) }
}

/**
 * The batch of webhooks that are due the longest and wait for none, as `turns`. `earlier` is one of their user that has to be sent first:
 * another one of the batch, one that is being sent, or one that failed a few times only.
 */
function turns(isDue: string, { precedes }: Dialect): string {
  return `ready as materialized (
    select id, user_id, due_at from webhook_deliveries
    where failed_at is null and waits_for is null and ${isDue} order by due_at, id limit ${BATCH}
  ), turns as materialized (
    select id, due_at, coalesce(lag(id) over (partition by user_id order by id), (
      select case when user_id = ready.user_id then id end from (
        select user_id, id from webhook_deliveries as earlier
        where ${precedes} and earlier.failed_at is null and (earlier.attempts < ${ATTEMPTS_IN_ORDER} or earlier.lease is not null)
        order by user_id desc, id desc limit 1
      ) as previous
    )) as earlier
    from ready
  )`
}

/** `due_at + 0`: PostgreSQL has to look up the candidates by id, whatever it expects to find by the due time. */
function claimIn(dialect: Dialect): string {
  return `
  with ${turns('due_at <= $3 and (lease is null or $5)', dialect)}, due as materialized (
    select id from webhook_deliveries
    where id in (select id from turns where earlier is null order by due_at, id limit ${CANDIDATES})
      and failed_at is null and due_at + 0 <= $3 and (lease is null or $5) and not exists (select 1 from webhook_stops where endpoint = $6)
    order by due_at, id limit $4 ${dialect.lock}
  )
  update webhook_deliveries set lease = $1, due_at = $2 where id in (select id from due)
  returning ${QUEUED_WEBHOOK.columns}`
}

/**
 * The lock on the earlier one keeps it from being delivered, failed or postponed before those that wait for it can be seen. PostgreSQL skips
 * the lock on a row that the statement has changed already, so the last ones come first. A later one that was claimed meanwhile may wait too.
 */
function queueUpIn(dialect: Dialect): string {
  return `
  with ${turns('due_at <= $1', dialect)}, queued as materialized (
    select later.id, first.id as earlier
    from turns join webhook_deliveries as later on later.id = turns.id join webhook_deliveries as first on first.id = turns.earlier
    where first.failed_at is null and (first.attempts < ${ATTEMPTS_IN_ORDER} or first.lease is not null or first.due_at <= $1)
    order by later.id desc ${dialect.lockBoth}
  )
  update webhook_deliveries set waits_for = queued.earlier from queued where webhook_deliveries.id = queued.id`
}

/**
 * Claims webhooks that are due, the longest due first; none if the receiver has answered 410. It reads one batch: call `queueUpWebhooks`
 * before, so that the batch does not consist of webhooks whose turn has not come.
 */
export async function claimWebhooks(db: Queries, endpoint: string, claim: Claim): Promise<ClaimedWebhook[]> {
  const { lease, leaseEndsAt, now, limit, takesOver } = claim
  const webhooks = await db.all(CLAIM, lease, leaseEndsAt, now, limit, takesOver, endpoint)
  return webhooks.map((webhook) => ({ ...webhook, lease }))
}

/**
 * Lets those of a batch of due webhooks wait whose turn has not come. They are read again after the one that they wait for is delivered,
 * fails or may be overtaken, so that the cost of a claim does not depend on how many wait. Returns whether there may be more: if not, a claim
 * finds at least half a batch, or all whose turn it is.
 */
export async function queueUpWebhooks(db: Queries, now: number): Promise<boolean> {
  return (await db.run(QUEUE_UP, now)) >= BATCH / 2
}

/** Postpones a webhook that was not accepted. From some number of attempts on, later ones no longer wait for it. */
export async function postponeWebhook(db: Database, webhook: ClaimedWebhook, dueAt: number, reason: string): Promise<void> {
  if (webhook.attempts + 1 < ATTEMPTS_IN_ORDER) return leased.postpone(db, webhook, dueAt, reason)
  await db.transaction(async (tx) => {
    await leased.postpone(tx, webhook, dueAt, reason)
    await tx.run(LET_PASS, webhook.id)
  })
}

/** Ends the wait for webhooks that failed or may be overtaken. Release 0.9 does not end it, nor do those that expire in a batch. */
export const letWebhooksPass = runs<Queries, [now: number]>(`
  update webhook_deliveries set waits_for = null where waits_for in (
    select id from webhook_deliveries
    where failed_at is not null or (attempts >= ${ATTEMPTS_IN_ORDER} and lease is null and due_at > $1))`)

/** Removes a webhook that was delivered, even if another process has taken over meanwhile: it need not arrive a third time. */
export async function removeWebhook(db: Queries, { id }: ClaimedWebhook): Promise<void> {
  await db.run(REMOVE, id)
}

/** Marks a webhook as failed, unless another process has taken over. */
export async function giveUpWebhook(db: Database, webhook: ClaimedWebhook, now: number, reason: string): Promise<void> {
  await db.transaction(async (tx) => {
    await leased.giveUp(tx, webhook, now, reason)
    await tx.run(LET_PASS, webhook.id)
  })
}

/** Stops all deliveries to a receiver, in every process. */
export const stopWebhooks = runs<Queries, [endpoint: string, now: number]>(
  'insert into webhook_stops (endpoint, stopped_at) values ($1, $2) on conflict (endpoint) do nothing',
)

/** Ends every stop. Returns false if there was none. */
export const resumeWebhooks = changes<Queries, []>('delete from webhook_stops')

/** Marks webhooks as failed that were requested before the given time and wait for a receiver that has answered 410. Returns how many. */
export function expireStoppedWebhooks(
  db: Queries,
  { before, now, batch, endpoint, reason }: { before: number; now: number; batch: number; endpoint: string; reason: string },
): Promise<number> {
  return db.run(EXPIRE, before, now, batch, endpoint, reason)
}

/** One page of webhooks in order of id, starting after the given id. */
export function listWebhooks(db: Reads, { after, size, failedOnly }: WebhookPage): Promise<OutboxWebhook[]> {
  return db.all(failedOnly ? LIST_FAILED : LIST, after, size)
}

export const findWebhook = findsIn<OutboxWebhook, [id: number]>(OUTBOX_WEBHOOK, 'where id = $1')

/** The endpoint is that of the settings; an empty one is never stopped. */
export async function measureWebhooks(db: Reads, endpoint: string): Promise<WebhookState> {
  return (await db.first(MEASURE, endpoint)) ?? { pending: 0, failed: 0 }
}
