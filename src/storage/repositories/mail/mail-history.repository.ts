import { MAIL_RECORD, type MailFailure, type MailOutcome, type MailRecord } from '../../../model/mail.ts'
import { insertInto, type Queries, type Reads, statement, type Transaction } from '../../database.ts'
import { countsChanges, lists } from '../../repository-functions.ts'
import { deleteListed } from '../../tables.ts'

/** What happened to a mail: an attempt that failed with an error, or its end. */
export type MailStep = Pick<MailRecord, 'mailId' | 'kind' | 'recipient' | 'requestedAt' | 'at'> & {
  readonly error?: string | undefined
  readonly outcome?: MailOutcome | undefined
  readonly answer?: string | undefined
}

// A mail may be tried for a day. The same error in a row is one entry; of more entries, the last ones are kept.
const MAX_ERRORS = 20
const NEW_COLUMNS = MAIL_RECORD.columnNames.filter((name) => name !== 'id')

const SELECT = `select ${MAIL_RECORD.columns} from mail_history`
const FIND_OPEN = statement(`${SELECT} where mail_id = $1 and outcome is null order by id desc limit 1`, MAIL_RECORD.fromRow)
const INSERT = statement(insertInto('mail_history', { columnNames: NEW_COLUMNS }))
const UPDATE = statement('update mail_history set at = $2, attempts = $3, errors = $4, outcome = $5, answer = $6 where id = $1')

/** Adds a step to the history of a mail. One process at a time sends a mail, so that nobody else writes its history. */
export async function recordMail(tx: Transaction, step: MailStep): Promise<void> {
  const { mailId, kind, requestedAt, at, error, outcome, answer } = step
  const recipient = step.recipient.toLowerCase()
  const open = mailId === 0 ? undefined : await tx.first(FIND_OPEN, mailId)
  const errors = withError(open?.errors ?? [], error, at)
  const isAttempt = error !== undefined || outcome === 'delivered'
  const attempts = (open?.attempts ?? 0) + (isAttempt ? 1 : 0)
  if (open !== undefined) {
    await tx.run(UPDATE, open.id, at, attempts, MAIL_RECORD.fields.errors.toColumn(errors), outcome ?? null, answer ?? null)
    return
  }
  const row = MAIL_RECORD.toRow({ mailId, kind, recipient, requestedAt, at, attempts, errors, outcome, answer })
  await tx.run(INSERT, ...NEW_COLUMNS.map((name) => row[name] ?? null))
}

function withError(errors: readonly MailFailure[], error: string | undefined, at: number): readonly MailFailure[] {
  if (error === undefined) return errors
  const last = errors.at(-1)
  if (last?.error === error) return [...errors.slice(0, -1), { ...last, lastAt: at, count: last.count + 1 }]
  return [...errors, { error, firstAt: at, lastAt: at, count: 1 }].slice(-MAX_ERRORS)
}

/** Whether each of the mails still waits: its number is in the outbox, and it was not given up. */
const listWaiting = lists<{ readonly id: number }, [ids: string]>({
  postgres:
    'select id from outbox where failed_at is null and id = any (array(select value::bigint from json_array_elements_text($1::text::json)))',
  sqlite: 'select id from outbox where failed_at is null and id in (select value from json_each($1))',
})

export async function findWaiting(db: Reads, mailIds: readonly number[]): Promise<ReadonlySet<number>> {
  if (mailIds.length === 0) return new Set()
  return new Set((await listWaiting(db, JSON.stringify(mailIds))).map(({ id }) => id))
}

/** One page, the newest first, starting below an id. */
export const listMailRecords = lists<MailRecord, [beforeId: number, limit: number]>(
  `${SELECT} where id < $1 order by id desc limit $2`,
  MAIL_RECORD.fromRow,
)

/** The same for one address. */
export const listMailRecordsTo = lists<MailRecord, [recipient: string, beforeId: number, limit: number]>(
  `${SELECT} where recipient = $1 and id < $2 order by id desc limit $3`,
  MAIL_RECORD.fromRow,
)

/** Deletes at most `limit` records that did not change since the given time. Returns how many. */
export const deleteOldMailRecords = countsChanges<Queries, [before: number, limit: number]>(
  deleteListed('mail_history', 'id', 'select id from mail_history where at <= $1 order by at limit $2'),
)
