import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { pino } from 'pino'
import { type Delivery, LEASE_MS } from '../../src/delivery/dispatcher.ts'
import { createWebhookDelivery } from '../../src/delivery/webhooks/webhook.delivery.ts'
import type { ClaimedWebhook } from '../../src/model/webhook.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { type LeftWebhook, leaveWebhooks } from '../support/servers/webhook-backlog.ts'
import { webhookRows } from '../support/servers/webhook-receiver.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const ATTEMPTS_IN_ORDER = 4

type Outcome = 'accepted' | 'rejected' | 'killed' | 'released'

/** Webhooks of one user that were left in the same state, one due after the other. */
const RUN = fc.record({
  userId: fc.nat(2),
  count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 200, max: 700 })),
  state: fc.constantFrom('new', 'new', 'new', 'leased', 'retried', 'overtaken', 'failed'),
  dueInMs: fc.oneof(fc.integer({ min: -HOUR_MS, max: 0 }), fc.integer({ min: -HOUR_MS, max: LEASE_MS })),
  stepMs: fc.constantFrom(-3, 0, 2),
})
const ROUND = fc.record({
  outcomes: fc.array(fc.constantFrom<Outcome>('accepted', 'rejected', 'killed', 'released'), { minLength: 1, maxLength: 9 }),
  limit: fc.integer({ min: 1, max: 8 }),
  advanceMs: fc.constantFrom(SECOND_MS, LEASE_MS, 30 * SECOND_MS, 120 * SECOND_MS, HOUR_MS, 10 * HOUR_MS, 40 * HOUR_MS),
})

function leftFrom({ userId, count, state, dueInMs, stepMs }: typeof RUN extends fc.Arbitrary<infer Run> ? Run : never, now: number) {
  const attempts = state === 'retried' ? 2 : state === 'overtaken' ? 5 : 0
  return Array.from({ length: count }, (_, index): LeftWebhook => {
    const dueAt = now + dueInMs + index * stepMs
    return { userId, dueAt, requestedAt: now, attempts, isLeased: state === 'leased', failedAt: state === 'failed' ? now : null }
  })
}

test('whatever was leased, postponed or killed, every webhook is attempted within its delay plus one lease', async (t) => {
  const app = await startApp(t)
  const backlog = fc.array(RUN, { minLength: 1, maxLength: 8, size: 'max' })
  const rounds = fc.array(ROUND, { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(backlog, rounds, async (runs, outages) => {
      await leaveWebhooks(
        app.db,
        runs.flatMap((run) => leftFrom(run, app.clock.now())),
      )
      const worker = createWorker(app)
      for (const { outcomes, limit, advanceMs } of outages) {
        await worker.drain(outcomes, limit)
        assert.deepEqual(await overdue(app), [])
        app.clock.advance({ ms: advanceMs })
      }
      const pending = (await webhookRows(app)).filter(({ failed_at: failedAt }) => failedAt === null)
      app.clock.advance({ ms: Math.max(0, ...pending.map(({ due_at: dueAt }) => dueAt - app.clock.now())) })
      await worker.drain(['accepted'], 8)
      const left = (await webhookRows(app)).filter(({ failed_at: failedAt }) => failedAt === null)
      assert.deepEqual(left, [], 'all are delivered once every delay and every lease is over')
    }),
    { numRuns: 6, endOnFailure: true },
  )
})

/** Webhooks that are due, although no earlier one of their user is being sent or waits for one of its first retries. */
async function overdue(app: TestApp) {
  const now = app.clock.now()
  const blocked = new Set<number>()
  const found = []
  for (const row of await webhookRows(app)) {
    if (row.failed_at !== null) continue
    if (row.due_at > now && (row.attempts < ATTEMPTS_IN_ORDER || row.lease !== null)) blocked.add(row.user_id)
    if (row.due_at <= now && !blocked.has(row.user_id)) found.push(row)
  }
  return found
}

/** A process that attempts what is due. Killed, it neither saves the outcome nor ends the lease. */
function createWorker({ db, clock }: TestApp) {
  let status = 204
  const delivery = createWebhookDelivery({
    db,
    endpoint: 'receiver',
    secrets: [new Uint8Array(24)],
    transport: { post: async () => status, close: async () => undefined },
    now: clock.now,
    random: () => 0,
    logger: pino({ enabled: false }),
    onAttempt: () => undefined,
  })
  /** Never releases a webhook twice in a row: it is due at once. */
  async function attempt(webhook: ClaimedWebhook, outcome: Outcome | undefined, released: Set<number>): Promise<void> {
    status = outcome === 'rejected' ? 500 : 204
    if (outcome === 'killed') return
    if (outcome !== 'released' || released.has(webhook.id)) return (await delivery.attempt(webhook))()
    released.add(webhook.id)
    await delivery.release(webhook)
  }

  return {
    async drain(outcomes: readonly Outcome[], limit: number): Promise<void> {
      const released = new Set<number>()
      let attempts = 0
      for (;;) {
        const claimed = await claimDue(delivery, clock.now(), limit)
        if (claimed.length === 0) return
        for (const webhook of claimed) await attempt(webhook, outcomes[attempts++ % outcomes.length], released)
      }
    },
  }
}

async function claimDue(delivery: Delivery<ClaimedWebhook>, now: number, limit: number): Promise<ClaimedWebhook[]> {
  let hasMore = true
  while (hasMore) hasMore = await delivery.prune()
  return delivery.claim({ lease: randomUUID(), leaseEndsAt: now + LEASE_MS, now, limit, takesOver: true })
}
