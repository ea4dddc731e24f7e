import type { WebhookSettings } from '../../config/webhook.ts'
import type { ClaimedWebhook } from '../../model/webhook.ts'
import type { Database } from '../../storage/database.ts'
import {
  claimWebhooks,
  expireStoppedWebhooks,
  extendWebhookLease,
  forgetFailedWebhooks,
  giveUpWebhook,
  letWebhooksPass,
  postponeWebhook,
  queueUpWebhooks,
  releaseWebhook,
  removeWebhook,
  stopWebhooks,
} from '../../storage/repositories/webhooks/webhook.repository.ts'
import { createDispatcher, type Delivery, type Dispatcher, type DispatcherOptions, type Outcome } from '../dispatcher.ts'
import { createWebhookTransport, WebhookError, type WebhookTransport, writeWebhook } from './webhook.transport.ts'

export type WebhookDispatcherParts = DispatcherOptions & {
  readonly db: Database
  readonly onAttempt: (outcome: AttemptOutcome) => void
  /** How long the receiver may take to answer. */
  readonly deadlineMs?: number
}

/** Sends the webhooks of the outbox to the receiver of the settings. */
export function createWebhookDispatcher(settings: WebhookSettings, parts: WebhookDispatcherParts): Dispatcher {
  const transport = createWebhookTransport(settings.url, parts.deadlineMs)
  return createDispatcher(createWebhookDelivery({ ...parts, ...settings, transport }), parts)
}

type WebhookDeliveryParts = WebhookDispatcherParts &
  Pick<WebhookSettings, 'endpoint' | 'secrets'> & { readonly transport: WebhookTransport }

export type AttemptOutcome = 'delivered' | 'retried' | 'failed'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const DELAYS_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS]
const RETRIED_FOR_MS = 3 * DAY_MS
const FAILED_KEPT_MS = 30 * DAY_MS
const PRUNE_EVERY_MS = 10 * MINUTE_MS
const PRUNE_BATCH = 250
const GONE = 410
const STOPPED = 'answered 410: deliveries are stopped'

/** The delay after a number of earlier attempts. A random part, at most a quarter, spreads webhooks that failed together. */
export function webhookDelayMs(attempts: number, random: () => number): number {
  const delay = DELAYS_MS[Math.min(attempts, DELAYS_MS.length - 1)] ?? 0
  return Math.round(delay * (1 - random() / 4))
}

/** Delivers the webhooks of the outbox. Each attempt is signed for its own moment. */
export function createWebhookDelivery(parts: WebhookDeliveryParts): Delivery<ClaimedWebhook> {
  const { db, endpoint, secrets, transport, now, logger, onAttempt, random = Math.random } = parts
  let isClosed = false
  let isFailing = false
  let prunesAt = Number.NEGATIVE_INFINITY

  async function attempt(webhook: ClaimedWebhook): Promise<Outcome> {
    try {
      return answered(webhook, await transport.post(writeWebhook(webhook, secrets, now())))
    } catch (error) {
      // The next process sends it at once: the receiver is not to blame.
      if (isClosed) return () => releaseWebhook(db, webhook, now())
      return failed(webhook, error instanceof WebhookError ? error.message : unexpected(webhook, error))
    }
  }

  function answered(webhook: ClaimedWebhook, status: number): Outcome {
    if (status === GONE) return stopped(webhook)
    if (status >= 200 && status < 300) return delivered(webhook)
    return failed(webhook, status >= 300 && status < 400 ? `answered ${status}: redirects are not followed` : `answered ${status}`)
  }

  function delivered(webhook: ClaimedWebhook): Outcome {
    onAttempt('delivered')
    if (isFailing) logger.info('webhooks are delivered again')
    isFailing = false
    return () => removeWebhook(db, webhook)
  }

  /** The first failure is logged, and the first success after it: during an outage of the receiver every webhook fails. */
  function failed(webhook: ClaimedWebhook, reason: string): Outcome {
    const endsAt = webhook.requestedAt + RETRIED_FOR_MS
    if (now() >= endsAt) return givenUp(webhook, reason)
    onAttempt('retried')
    logger[isFailing ? 'debug' : 'warn'](describe(webhook, reason), 'a webhook was not accepted and is retried')
    isFailing = true
    const dueAt = Math.min(now() + webhookDelayMs(webhook.attempts, random), endsAt)
    return () => postponeWebhook(db, webhook, dueAt, reason)
  }

  function givenUp(webhook: ClaimedWebhook, reason: string): Outcome {
    onAttempt('failed')
    logger.error(describe(webhook, reason), 'a webhook could not be delivered and is given up')
    return () => giveUpWebhook(db, webhook, now(), reason)
  }

  /** Stopped before the lease ends, so that no process sends another webhook in between. */
  function stopped(webhook: ClaimedWebhook): Outcome {
    onAttempt('retried')
    logger.error(
      describe(webhook, 'answered 410'),
      'the webhook receiver answered 410: deliveries are stopped until WEBHOOK_URL changes or `latchkey webhook retry` is run',
    )
    return async () => {
      await stopWebhooks(db, endpoint, now())
      await postponeWebhook(db, webhook, now(), STOPPED)
    }
  }

  function unexpected(webhook: ClaimedWebhook, error: unknown): string {
    logger.error({ err: error, outboxId: webhook.id, type: webhook.type }, 'a webhook could not be sent')
    return 'the request could not be made'
  }

  /** Errors are ignored here: the next run does what is left. */
  async function prune(): Promise<boolean> {
    if (await cleanUp()) return true
    return queueUpWebhooks(db, now()).catch(() => false)
  }

  /** Webhooks that wait for a stopped receiver fail after the same time as others. True when there may be more. */
  async function cleanUp(): Promise<boolean> {
    if (now() < prunesAt) return false
    const limits = { before: now() - RETRIED_FOR_MS, now: now(), batch: PRUNE_BATCH, endpoint, reason: STOPPED }
    const expired = await expireStoppedWebhooks(db, limits).catch(() => 0)
    const forgotten = await forgetFailedWebhooks(db, now() - FAILED_KEPT_MS, PRUNE_BATCH).catch(() => 0)
    if (expired === PRUNE_BATCH || forgotten === PRUNE_BATCH) return true
    await letWebhooksPass(db, now()).catch(() => undefined)
    prunesAt = now() + PRUNE_EVERY_MS
    return false
  }

  return {
    attempt,
    prune,
    claim: (claim) => claimWebhooks(db, endpoint, claim),
    renew: (webhook, leaseEndsAt) => extendWebhookLease(db, webhook, leaseEndsAt),
    release: (webhook) => releaseWebhook(db, webhook, now()),
    close() {
      isClosed = true
      return transport.close()
    },
  }
}

function describe({ id, messageId, type, attempts }: ClaimedWebhook, reason: string) {
  return { outboxId: id, messageId, type, attempts: attempts + 1, reason }
}
