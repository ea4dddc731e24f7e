import { without } from '../../../model/entity.ts'
import { MAIL_RECORD, type MailFailure, type MailOutcome, type MailRecord } from '../../../model/mail.ts'
import { type Reads, statement, type Transaction } from '../../database.ts'
import { findsIn, inserts, lists, listsIn, runs } from '../../repository-functions.ts'
import { around, GIVEN_IDS } from '../../tables.ts'

/** What happened to a mail: an attempt that failed with an error, or its end. */
type MailStep = Pick<MailRecord, 'mailId' | 'kind' | 'recipient' | 'requestedAt' | 'at'> & {
  readonly error?: string | undefined
  readonly outcome?: MailOutcome | undefined
  readonly answer?: string | undefined
}

// A mail may be tried for a day. The same error in a row is one entry; of more entries, the last ones are kept.
const MAX_ERRORS = 20
const findOpen = findsIn<MailRecord, [mailId: number]>(MAIL_RECORD, 'where mail_id = $1 and outcome is null order by id desc limit 1')
const insertRecord = inserts(without(MAIL_RECORD, 'id'))
const UPDATE = statement('update mail_history set at = $2, attempts = $3, errors = $4, outcome = $5, answer = $6 where id = $1')

/** Adds a step to the history of a mail. One process at a time sends a mail, so that nobody else writes its history. */
export async function recordMail(tx: Transaction, step: MailStep): Promise<void> {
  const { mailId, kind, requestedAt, at, error, outcome, answer } = step
  const recipient = step.recipient.toLowerCase()
  const open = mailId === 0 ? undefined : await findOpen(tx, mailId)
  const errors = withError(open?.errors ?? [], error, at)
  const isAttempt = error !== undefined || outcome === 'delivered'
  const attempts = (open?.attempts ?? 0) + (isAttempt ? 1 : 0)
  if (open !== undefined) {
    await tx.run(UPDATE, open.id, at, attempts, MAIL_RECORD.fields.errors.toColumn(errors), outcome ?? null, answer ?? null)
    return
  }
  await insertRecord(tx, { mailId, kind, recipient, requestedAt, at, attempts, errors, outcome, answer })
}

function withError(errors: readonly MailFailure[], error: string | undefined, at: number): readonly MailFailure[] {
  if (error === undefined) return errors
  const last = errors.at(-1)
  if (last?.error === error) return [...errors.slice(0, -1), { ...last, lastAt: at, count: last.count + 1 }]
  return [...errors, { error, firstAt: at, lastAt: at, count: 1 }].slice(-MAX_ERRORS)
}

/** A mail that nobody needs any more, and that has left the outbox. `recipient` is the account, `address` where it would have gone. */
export type RemovedMail = Pick<MailRecord, 'id' | 'kind' | 'recipient' | 'requestedAt'> & { readonly address: string }

const RECORD_UNWANTED = `
  insert into mail_history (mail_id, kind, recipient, requested_at, at, attempts, errors)
  select given.id, given.kind, given.address, given."requestedAt", $2, 0, '[]' from`
// Anybody may name an address without an account: nothing is kept about those.
const IS_OF_ACCOUNT = `
  where exists (select 1 from users where email_key = given.recipient)
    and (select mail_id from mail_history where mail_id = given.id and outcome is null limit 1) is null`

/** Notes mails that were requested for an account and never tried. */
const insertUnwanted = runs<Transaction, [mails: string, now: number]>({
  postgres: `${RECORD_UNWANTED} json_to_recordset($1::text::json)
    as given (id bigint, kind text, recipient text, address text, "requestedAt" bigint) ${IS_OF_ACCOUNT}`,
  sqlite: `${RECORD_UNWANTED} (select value ->> 'id' as id, value ->> 'kind' as kind, value ->> 'recipient' as recipient,
    value ->> 'address' as address, value ->> 'requestedAt' as "requestedAt" from json_each($1)) as given ${IS_OF_ACCOUNT}`,
})

export function recordUnwanted(tx: Transaction, mails: readonly RemovedMail[], now: number): Promise<void> {
  return insertUnwanted(tx, JSON.stringify(mails), now)
}

/** The ids among those given that a condition holds for, in a table. */
function listsIds(select: string) {
  const list = lists<{ readonly id: number }, [ids: string]>(around(GIVEN_IDS, (given) => `${select} ${given}`))
  return async (db: Reads, ids: readonly number[]): Promise<ReadonlySet<number>> =>
    new Set(ids.length === 0 ? [] : (await list(db, JSON.stringify(ids))).map(({ id }) => id))
}

/** Which of the mails still wait: they are in the outbox, and were not given up. */
export const findWaiting = listsIds('select id from outbox where failed_at is null and id')

/** Which of the mails in the outbox have an open record. */
export const findRecorded = listsIds('select mail_id as id from mail_history where outcome is null and mail_id')

/** One page, the newest first, starting below an id. */
export const listMailRecords = listsIn<MailRecord, [beforeId: number, limit: number]>(
  MAIL_RECORD,
  'where id < $1 order by id desc limit $2',
)

/** The same for one address. */
export const listMailRecordsTo = listsIn<MailRecord, [recipient: string, beforeId: number, limit: number]>(
  MAIL_RECORD,
  'where recipient = $1 and id < $2 order by id desc limit $3',
)
