import { type Queries, statement } from '../../../src/storage/database.ts'
import { insertRows } from '../../../src/storage/tables.ts'

const INSERT = statement(insertRows('webhook_deliveries', { keepsIds: false }))
const DELETE_ALL = statement('delete from webhook_deliveries')

/** A webhook as an earlier process has left it. Its lease ends when it is due. */
export type LeftWebhook = {
  readonly userId: number
  readonly dueAt: number
  readonly requestedAt?: number
  readonly attempts?: number
  readonly isLeased?: boolean
  readonly failedAt?: number | null
}

/** Replaces all webhooks by the given ones. `msg_1` is the message of the first. */
export async function leaveWebhooks(db: Queries, webhooks: readonly LeftWebhook[]): Promise<void> {
  const rows = webhooks.map(({ userId, dueAt, requestedAt = dueAt, attempts = 0, isLeased = false, failedAt = null }, index) => ({
    message_id: `msg_${index + 1}`,
    type: 'key.created',
    user_id: userId,
    occurred_at: requestedAt,
    requested_at: requestedAt,
    attempts,
    due_at: dueAt,
    lease: isLeased ? 'killed' : null,
    failed_at: failedAt,
  }))
  await db.run(DELETE_ALL)
  await db.run(INSERT, JSON.stringify(rows))
}
