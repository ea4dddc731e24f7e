import { isIP } from 'node:net'
import type { Config } from '../config/load.ts'
import { isoTime } from '../model/entity.ts'
import { COMMAND } from '../shared/program.ts'
import { counted, countedTime } from '../shared/text.ts'
import type { Inspection } from '../storage/maintenance/inspection.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const LATE_AFTER_MS = 15 * 60_000
const LIST = `See the reason with: ${COMMAND} webhook list`

/** Checks whether mails are sent. */
export function checkMails({ pendingMails, failedMails, oldestMailAt }: Inspection, now: number): Finding[] {
  const findings: Finding[] = []
  const ageMs = oldestMailAt === undefined ? 0 : now - oldestMailAt
  if (ageMs > LATE_AFTER_MS)
    findings.push(
      ...failure(
        'outbox',
        `${counted(pendingMails, 'mail')} ${pendingMails === 1 ? 'is' : 'are'} pending, the oldest for ${countedTime(ageMs)}`,
        `Check that the service runs, and see the reason with: ${COMMAND} mail list`,
      ),
    )
  if (failedMails > 0) findings.push(...undelivered('outbox', 'mail', failedMails))
  return findings.length > 0 ? findings : ok('outbox', pendingMails === 0 ? 'empty' : `${counted(pendingMails, 'mail')} pending`)
}

/** Checks whether webhooks arrive. Sends nothing: `webhook test` does. */
export function checkWebhooks({ webhook }: Config, { webhooks, webhookStops }: Inspection, now: number): Finding[] {
  const { pending, failed, retrying, dueAt } = webhooks
  if (webhook === undefined) return pending + failed === 0 ? [] : left(pending + failed)
  const findings: Finding[] = []
  const stop = webhookStops.find(({ endpoint }) => endpoint === webhook.endpoint)
  if (stop !== undefined) findings.push(...stopped(stop.stoppedAt, pending))
  else if (dueAt !== undefined && now - dueAt > LATE_AFTER_MS) findings.push(...late(pending, now - dueAt))
  else if (retrying > 0)
    findings.push(
      ...warning('webhooks', `${counted(retrying, 'webhook')} not accepted yet, and retried`, `${LIST}, and try: ${COMMAND} webhook test`),
    )
  if (failed > 0) findings.push(...undelivered('webhooks', 'webhook', failed))
  if (isClearText(webhook.url))
    findings.push(...warning('webhooks', 'WEBHOOK_URL is http: the ids in webhooks travel in clear text', 'Use https://.'))
  return findings.length > 0 ? findings : ok('webhooks', pending === 0 ? 'all delivered' : `${counted(pending, 'webhook')} pending`)
}

function left(count: number): Finding[] {
  return warning(
    'webhooks',
    `${counted(count, 'webhook')} in the outbox, and WEBHOOK_URL is not set`,
    `Set WEBHOOK_URL, or discard them: ${COMMAND} webhook list --json | jq '.[].id' | ${COMMAND} webhook discard -`,
  )
}

function stopped(stoppedAt: number, pending: number): Finding[] {
  return failure(
    'webhooks',
    `stopped since ${isoTime(stoppedAt)}, because the receiver answered 410; ${counted(pending, 'webhook')} pending`,
    `Set WEBHOOK_URL to another receiver, or continue with this one: ${COMMAND} webhook retry`,
  )
}

function late(pending: number, lateMs: number): Finding[] {
  return failure(
    'webhooks',
    `${counted(pending, 'webhook')} pending, the oldest due for ${countedTime(lateMs)}`,
    `Check that the service runs with WEBHOOK_URL. ${LIST}`,
  )
}

/** A receiver on the same machine needs no TLS. */
function isClearText(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isLoopback = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
  return protocol === 'http:' && !isLoopback
}

/** Entries of the outbox that were given up. */
function undelivered(check: string, noun: 'mail' | 'webhook', count: number): Finding[] {
  return warning(
    check,
    `${counted(count, noun)} could not be delivered`,
    `See the reason with: ${COMMAND} ${noun} list --failed, then use: ${COMMAND} ${noun} retry ID, or: ${COMMAND} ${noun} discard ID`,
  )
}
