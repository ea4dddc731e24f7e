import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { withDotEnv } from '../../config/dotenv.ts'
import { loadConfig } from '../../config/load.ts'
import { createWebhookAdministration } from '../../domain/webhooks/webhook-administration.service.ts'
import type { OutboxWebhook } from '../../model/webhook.ts'
import type { Database } from '../../storage/database.ts'
import { type BulkOptions, SomeFailed } from '../bulk/bulk.ts'
import { type Outbox, outboxCommands } from '../bulk/delivery-commands.ts'
import { rehearse } from '../bulk/rehearsal.ts'
import { JSON_OPTION, print, printJson } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { outboxState, WEBHOOK_FORMAT, webhookLabel } from '../terminal/views.ts'
import { OPERATOR, partsOf } from '../with-database.ts'

const WEBHOOKS: Outbox<OutboxWebhook> = {
  noun: 'webhook',
  description: 'manage webhooks that are pending or could not be delivered',
  format: WEBHOOK_FORMAT,
  administration: (db) => createWebhookAdministration(partsOf(db)),
  label: webhookLabel,
  lines: describeWebhook,
  retryWithoutIds: resume,
}

export function webhookCommands(program: Command): void {
  outboxCommands(program, WEBHOOKS)
    .command('test')
    .description('send a test event to WEBHOOK_URL, and report the answer')
    .option(...JSON_OPTION)
    .action(test)
}

function describeWebhook(webhook: OutboxWebhook): string[] {
  const iso = (time: number) => new Date(time).toISOString()
  return [
    `Webhook     ${webhook.id}, ${webhook.type}`,
    `webhook-id  ${webhook.messageId}`,
    `User        ${webhook.userId}`,
    ...(webhook.keyId === undefined ? [] : [`Key         ${webhook.keyId}`]),
    ...(webhook.sessionId === undefined ? [] : [`Session     ${webhook.sessionId}`]),
    `State       ${outboxState(webhook)}`,
    `Occurred    ${iso(webhook.occurredAt)}`,
    `Attempts    ${webhook.attempts}`,
    webhook.failedAt === undefined ? `Next try    ${iso(webhook.dueAt)}` : `Given up    ${iso(webhook.failedAt)}`,
    `Last error  ${webhook.lastError ?? 'none'}`,
  ]
}

/** Ends the stop that a receiver caused by answering 410. */
async function resume(db: Database, { dryRun, json }: BulkOptions): Promise<void> {
  const act = (used: Database) => createWebhookAdministration(partsOf(used)).resume(OPERATOR)
  const isResumed = (dryRun ? await rehearse(db, act) : await act(db)) === true
  if (json) return printJson({ resumed: isResumed, ...(dryRun && { dry_run: true }) })
  if (!isResumed) return print('deliveries are not stopped; name the ids of webhooks to send them again')
  print(dryRun ? 'would resume deliveries' : 'resumed deliveries')
}

type Answer = { readonly status: number } | { readonly error: string }

/** Sends directly, past the outbox: the answer is reported at once, and a failure is not retried. */
async function test({ json }: { readonly json?: true }): Promise<void> {
  const { webhook } = loadConfig(withDotEnv(process.env))
  if (webhook === undefined) throw new InvalidInput(['WEBHOOK_URL: is not set'])
  const { createWebhookTransport } = await import('../../delivery/webhooks/webhook.transport.ts')
  const { writeWebhook } = await import('../../delivery/webhooks/webhook-message.ts')
  const messageId = `msg_${randomUUID()}`
  const sentAt = Date.now()
  const message = writeWebhook({ messageId, type: 'webhook.test', occurredAt: sentAt }, webhook.secrets, sentAt)
  const transport = createWebhookTransport(webhook.url)
  const answer = await transport.post(message).then(
    (status): Answer => ({ status }),
    (error: Error): Answer => ({ error: error.message }),
  )
  await transport.close()
  const isAccepted = 'status' in answer && answer.status >= 200 && answer.status < 300
  if (json) printJson({ webhook_id: messageId, accepted: isAccepted, ...answer })
  else if (isAccepted) print(`the receiver accepted the test event ${messageId} with ${answer.status}, after ${Date.now() - sentAt} ms`)
  if (isAccepted) return
  if (json) throw new SomeFailed()
  throw new InvalidInput([`the receiver did not accept the test event: ${'status' in answer ? `answered ${answer.status}` : answer.error}`])
}
