import type { Config } from '../config/load.ts'
import { isoTime } from '../model/entity.ts'
import { isLoopbackHostHeader } from '../shared/addresses.ts'
import { COMMAND } from '../shared/program.ts'
import { counted, countedTime } from '../shared/text.ts'
import type { Inspection } from '../storage/maintenance/inspection.ts'
import { about, type Finding } from './finding.ts'

const OUTBOX = about('outbox')
const WEBHOOKS = about('webhooks')
const LATE_AFTER_MS = 15 * 60_000
const LIST = `See the reason with: ${COMMAND} webhook list`

/** Checks whether mails are sent. */
export function checkMails({ pendingMails, failedMails, oldestMailAt }: Inspection, now: number): Finding[] {
  const findings: Finding[] = []
  const ageMs = oldestMailAt === undefined ? 0 : now - oldestMailAt
  if (ageMs > LATE_AFTER_MS)
    findings.push(
      ...OUTBOX.failure(
        `${counted(pendingMails, 'mail')} ${pendingMails === 1 ? 'is' : 'are'} pending, the oldest for ${countedTime(ageMs)}`,
        `Check that the service runs, and see the reason with: ${COMMAND} mail list`,
      ),
    )
  if (failedMails > 0) findings.push(...undelivered(OUTBOX, 'mail', failedMails))
  return findings.length > 0 ? findings : OUTBOX.ok(pendingMails === 0 ? 'empty' : `${counted(pendingMails, 'mail')} pending`)
}

/** Checks whether webhooks arrive. Sends nothing: `webhook test` does. */
export function checkWebhooks({ webhook }: Config, inspection: Inspection, now: number): Finding[] {
  const { pending, failed } = inspection.webhooks
  if (webhook === undefined)
    return pending + failed === 0
      ? []
      : WEBHOOKS.warning(
          `${counted(pending + failed, 'webhook')} in the outbox, and WEBHOOK_URL is not set`,
          `Set WEBHOOK_URL, or discard them: ${COMMAND} webhook list --json | jq '.[].id' | ${COMMAND} webhook discard -`,
        )
  const { protocol, host } = new URL(webhook.url)
  // A receiver on the same machine needs no TLS.
  const isClearText = protocol === 'http:' && !isLoopbackHostHeader(host)
  const findings = [
    ...findWaiting(webhook.endpoint, inspection, now),
    ...(failed > 0 ? undelivered(WEBHOOKS, 'webhook', failed) : []),
    ...(isClearText ? WEBHOOKS.warning('WEBHOOK_URL is http: the ids in webhooks travel in clear text', 'Use https://.') : []),
  ]
  return findings.length > 0 ? findings : WEBHOOKS.ok(pending === 0 ? 'all delivered' : `${counted(pending, 'webhook')} pending`)
}

/** Why webhooks wait that should have arrived. */
function findWaiting(endpoint: string, { webhooks, webhookStops }: Inspection, now: number): Finding[] {
  const { pending, retrying, dueAt = now } = webhooks
  const stop = webhookStops.find((candidate) => candidate.endpoint === endpoint)
  if (stop !== undefined)
    return WEBHOOKS.failure(
      `stopped since ${isoTime(stop.stoppedAt)}, because the receiver answered 410; ${counted(pending, 'webhook')} pending`,
      `Set WEBHOOK_URL to another receiver, or continue with this one: ${COMMAND} webhook retry`,
    )
  if (now - dueAt > LATE_AFTER_MS)
    return WEBHOOKS.failure(
      `${counted(pending, 'webhook')} pending, the oldest due for ${countedTime(now - dueAt)}`,
      `Check that the service runs with WEBHOOK_URL. ${LIST}`,
    )
  if (retrying === 0) return []
  return WEBHOOKS.warning(`${counted(retrying, 'webhook')} not accepted yet, and retried`, `${LIST}, and try: ${COMMAND} webhook test`)
}

/** Entries of the outbox that were given up. */
function undelivered({ warning }: typeof OUTBOX, noun: 'mail' | 'webhook', count: number): Finding[] {
  return warning(
    `${counted(count, noun)} could not be delivered`,
    `See the reason with: ${COMMAND} ${noun} list --failed, then use: ${COMMAND} ${noun} retry ID, or: ${COMMAND} ${noun} discard ID`,
  )
}
