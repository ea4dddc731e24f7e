import type { MailKind, OutboxMail } from '../../../model/mail.ts'
import { longRead, type Reads, statement } from '../../database.ts'
import { ENTRY_COLUMNS, type EntryRow, toOutboxEntry } from '../../leased-rows.ts'

type MailRow = EntryRow & { readonly kind: MailKind; readonly recipient: string; readonly address: string | null }

const COLUMNS = `${ENTRY_COLUMNS}, kind, recipient, address`

const LIST = statement<MailRow>(`select ${COLUMNS} from outbox where id > $1 order by id limit $2`)
const LIST_NEWEST = statement<MailRow>(`select ${COLUMNS} from outbox where id < $1 order by id desc limit $2`)
// Passes those that wait.
const LIST_FAILED = longRead<MailRow>(`
  select ${COLUMNS} from outbox where failed_at is not null and id < $1 order by id desc limit $2`)
const FIND = statement<MailRow>(`select ${COLUMNS} from outbox where id = $1`)
const COUNT = longRead<{ pending: number; failed: number }>(
  'select count(*) - count(failed_at) as pending, count(failed_at) as failed from outbox',
)

/** One page of mails in order of id, starting after the given id. */
export async function listMailsAfter(db: Reads, id: number, limit: number): Promise<OutboxMail[]> {
  return (await db.all(LIST, id, limit)).map(toOutboxMail)
}

/** One page of mails, the newest first, starting below the given id. */
export async function listMailsBefore(
  db: Reads,
  filter: 'all' | 'failed',
  id = Number.MAX_SAFE_INTEGER,
  limit: number,
): Promise<OutboxMail[]> {
  return (await db.all(filter === 'all' ? LIST_NEWEST : LIST_FAILED, id, limit)).map(toOutboxMail)
}

export async function findMail(db: Reads, id: number): Promise<OutboxMail | undefined> {
  const row = await db.first(FIND, id)
  return row && toOutboxMail(row)
}

export async function countMails(db: Reads): Promise<{ readonly pending: number; readonly failed: number }> {
  return (await db.first(COUNT)) ?? { pending: 0, failed: 0 }
}

function toOutboxMail(row: MailRow): OutboxMail {
  return { ...toOutboxEntry(row), kind: row.kind, recipient: row.address ?? row.recipient }
}
