import type { ClaimedMail, MailKind } from '../../model/mail.ts'
import { type Queries, type Statement, statement } from '../database.ts'

type ClaimedRow = {
  readonly id: number
  readonly kind: MailKind
  readonly recipient: string
  readonly revision: number
  readonly attempts: number
  readonly requested_at: number
}

/** Begins the reason of a mail that waits because the mail server or the database is away: for everybody, account or not. */
const AWAY = 'away: '
// A mail that is still pending is not put in twice and keeps its turn, so that asking often makes it neither more nor sooner;
// one that was given up is tried anew.
const ENQUEUE = statement(`
  insert into outbox (kind, recipient, requested_at, due_at) values ($1, $2, $3, $3)
  on conflict (kind, recipient) do update
  set revision = outbox.revision + 1, requested_at = excluded.requested_at,
    due_at = case when outbox.failed_at is null then outbox.due_at else excluded.due_at end,
    attempts = case when outbox.failed_at is null then outbox.attempts else 0 end,
    last_error = null, failed_at = null`)
const CLAIM = apart<ClaimedRow>(
  (skipLocked) => `
  with due as materialized (
    select id from outbox where failed_at is null and due_at <= $3 order by due_at, id limit $4 ${skipLocked}
  )
  update outbox set lease = $1, due_at = $2 where id in (select id from due)
  returning id, kind, recipient, revision, attempts, requested_at`,
)
// Whoever registers at this moment raises the revision: PostgreSQL locks the row as it is now, but sees users as they were.
const REMOVE_UNWANTED = apart(
  (skipLocked) => `
  with unwanted as materialized (
    select id, revision from outbox
    where id in (select id from outbox where failed_at is null and due_at <= $1 order by due_at, id limit $2)
      and failed_at is null and due_at <= $1
      and not exists (select 1 from users where email_key = recipient and banned = false and (kind = 'reset' or verified = false))
    ${skipLocked}
  )
  delete from outbox where (id, revision) in (select id, revision from unwanted)`,
)
const REMOVE = statement('delete from outbox where id = $1 and revision = $2')
const RELEASE = statement('update outbox set lease = null, due_at = $3 where id = $1 and lease = $2')
const RENEW = statement('update outbox set lease = null, due_at = $3, attempts = 0 where id = $1 and lease = $2')
const POSTPONE = statement(`
  update outbox set lease = null, attempts = attempts + 1, due_at = $3, last_error = $4 where id = $1 and lease = $2`)
const GIVE_UP = statement(`
  update outbox set lease = null, attempts = attempts + 1, failed_at = $3, last_error = $4 where id = $1 and lease = $2 and revision = $5`)
const FORGET_FAILED = statement('delete from outbox where failed_at <= $1')
const MEASURE = statement<{ depth: number; oldest: number | null }>(`
  select count(*) as depth, min(requested_at) as oldest from outbox
  where failed_at is null and requested_at <= $1 and (attempts = 0 or last_error like '${AWAY}%')
    and exists (select 1 from outbox where failed_at is null and last_error like '${AWAY}%')`)

/** Processes on one PostgreSQL pass over the rows that another has in hand, and so never wait for each other; SQLite has one writer. */
function apart<Row>(sql: (skipLocked: string) => string): Statement<Row> {
  return statement(sql('for update skip locked'), sql(''))
}

/** Asks for a mail. Whether an account belongs to the address is looked at when it is sent, not now. */
export async function enqueueMail(db: Queries, kind: MailKind, recipient: string, now: number): Promise<void> {
  await db.run(ENQUEUE, kind, recipient, now)
}

export type Claim = { readonly lease: string; readonly leaseEndsAt: number; readonly now: number; readonly limit: number }

/** Takes mails that are due, the oldest first. No other process is given them until the lease ends. */
export async function claimMails(db: Queries, { lease, leaseEndsAt, now, limit }: Claim): Promise<ClaimedMail[]> {
  const rows = await db.all(CLAIM, lease, leaseEndsAt, now, limit)
  return rows.map(({ requested_at, ...row }) => ({ ...row, requestedAt: requested_at, lease }))
}

/** Takes out those of the mails longest due that nobody waits for: there is no account, or none that is sent such a mail. Tells how many. */
export function removeUnwantedMails(db: Queries, now: number, lookedAt: number): Promise<number> {
  return db.run(REMOVE_UNWANTED, now, lookedAt)
}

/** Takes a mail out for good. False when it was asked for again meanwhile: then it stays. */
export async function removeMail(db: Queries, { id, revision }: ClaimedMail): Promise<boolean> {
  return (await db.run(REMOVE, id, revision)) > 0
}

/** Lets go of a mail as it was; it is due at once. */
export async function releaseMail(db: Queries, { id, lease }: ClaimedMail, now: number): Promise<void> {
  await db.run(RELEASE, id, lease, now)
}

/** Lets go of a mail that was asked for again during its sending; it is due at once, as if it were new. */
export async function renewMail(db: Queries, { id, lease }: ClaimedMail, now: number): Promise<void> {
  await db.run(RENEW, id, lease, now)
}

/** Puts a mail off that was not accepted. */
export async function postponeMail(db: Queries, { id, lease }: ClaimedMail, dueAt: number, reason: string): Promise<void> {
  await db.run(POSTPONE, id, lease, dueAt, reason)
}

/** Puts a mail off because the mail server or the database is away, which is so for every address. */
export async function holdMail(db: Queries, mail: ClaimedMail, dueAt: number, reason: string): Promise<void> {
  await postponeMail(db, mail, dueAt, AWAY + reason)
}

/** Gives up for good. False when it was asked for again meanwhile, or is no longer ours. */
export async function giveUpMail(db: Queries, { id, lease, revision }: ClaimedMail, now: number, reason: string): Promise<boolean> {
  return (await db.run(GIVE_UP, id, lease, now, reason, revision)) > 0
}

/** Forgets mails that were given up that long ago: an address is not kept for ever. */
export async function forgetFailedMails(db: Queries, before: number): Promise<void> {
  await db.run(FORGET_FAILED, before)
}

/**
 * While the server or the database is away: what was asked for before a moment and has not been tried, or waits for them; and the age of
 * what waits longest. Nothing at other times, and never what the server turned away: that it is there tells that the address has an account.
 */
export async function measureOutbox(db: Queries, now: number, before: number): Promise<{ depth: number; oldestAgeSeconds: number }> {
  const row = await db.first(MEASURE, before)
  return { depth: row?.depth ?? 0, oldestAgeSeconds: row?.oldest == null ? 0 : Math.max(now - row.oldest, 0) / 1000 }
}
