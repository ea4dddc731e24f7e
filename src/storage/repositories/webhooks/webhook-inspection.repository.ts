import type { OutboxWebhook } from '../../../model/webhook.ts'
import { longRead, type Reads, statement } from '../../database.ts'
import { type EntryRow, toOutboxEntry } from '../../leased-rows.ts'
import { EVENT_COLUMNS, toWebhookEvent, type WebhookEventRow } from './webhook.repository.ts'

type WebhookRow = WebhookEventRow & EntryRow

/** The state of all webhooks together. */
export type WebhookState = {
  readonly pending: number
  readonly failed: number
  /** When the oldest pending webhook was requested. */
  readonly oldestAt: number | undefined
  /** When the receiver answered 410. */
  readonly stoppedAt: number | undefined
}

const COLUMNS = `${EVENT_COLUMNS}, due_at, lease, last_error, failed_at`
const LIST = statement<WebhookRow>(`select ${COLUMNS} from webhook_deliveries where id > $1 order by id limit $2`)
// Passes those that wait.
const LIST_FAILED = longRead<WebhookRow>(`
  select ${COLUMNS} from webhook_deliveries where id > $1 and failed_at is not null order by id limit $2`)
const FIND = statement<WebhookRow>(`select ${COLUMNS} from webhook_deliveries where id = $1`)
const MEASURE = statement<{ pending: number; failed: number; oldest: number | null; stopped: number | null }>(`
  select count(*) - count(failed_at) as pending, count(failed_at) as failed,
    min(case when failed_at is null then requested_at end) as oldest,
    (select stopped_at from webhook_stops where endpoint = $1) as stopped
  from webhook_deliveries`)

export type WebhookPage = { readonly after: number; readonly size: number; readonly failedOnly: boolean }

/** One page of webhooks in order of id, starting after the given id. */
export async function listWebhooks(db: Reads, { after, size, failedOnly }: WebhookPage): Promise<OutboxWebhook[]> {
  return (await db.all(failedOnly ? LIST_FAILED : LIST, after, size)).map(toOutboxWebhook)
}

export async function findWebhook(db: Reads, id: number): Promise<OutboxWebhook | undefined> {
  const row = await db.first(FIND, id)
  return row && toOutboxWebhook(row)
}

/** The endpoint is that of the settings; an empty one is never stopped. */
export async function measureWebhooks(db: Reads, endpoint: string): Promise<WebhookState> {
  const row = await db.first(MEASURE, endpoint)
  return {
    pending: row?.pending ?? 0,
    failed: row?.failed ?? 0,
    oldestAt: row?.oldest ?? undefined,
    stoppedAt: row?.stopped ?? undefined,
  }
}

function toOutboxWebhook(row: WebhookRow): OutboxWebhook {
  return { ...toWebhookEvent(row), ...toOutboxEntry(row) }
}
