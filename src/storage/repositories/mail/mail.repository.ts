import type { Language } from '../../../model/language.ts'
import {
  type ClaimedMail,
  type LinkMailKind,
  type MailCounts,
  type NoticeKind,
  OUTAGE_MARK,
  OUTBOX_MAIL,
  type OutboxMail,
  QUEUED_MAIL,
  SHOWN_ERROR,
} from '../../../model/mail.ts'
import { type Profile, USER, USER_LANGUAGE, USER_SECRETS } from '../../../model/user.ts'
import { type Database, type FinalStatement, longRead, type Queries, type Reads, type StoredRow, statement } from '../../database.ts'
import { type Claim, leasedRows, skippingLocked } from '../../leased-rows.ts'
import { exists, findsIn, listsIn } from '../../repository-functions.ts'
import { findInvitationTo } from '../users/invitation.repository.ts'
import { type RemovedMail, recordUnwanted } from './mail-history.repository.ts'

type RecipientRow = StoredRow & { readonly new_email: string | null; readonly change_version: number | null }

/**
 * The account or the invitation that a mail is about, the address that it goes to, and the version that its token names. `kind`: the mail that
 * is sent, which depends on the account.
 */
export type Recipient = {
  readonly kind: LinkMailKind
  readonly id: number
  readonly profile: Profile
  readonly to: string
  readonly version: number
  /** That of the owner of the account, if it is known. */
  readonly language?: Language | undefined
}

export const {
  extendLease,
  release: releaseMail,
  postpone: postponeMail,
  // For a mail that was requested again during its sending.
  requeue: requeueMail,
  retry: retryMail,
  discard: discardMail,
  // Addresses are not kept forever.
  forgetFailed: forgetFailedMails,
} = leasedRows('outbox')

// A pending mail is not queued twice and keeps its due time, so that repeated requests cause neither more mail nor an earlier one.
// A mail that was given up is tried again.
const MERGE = `
  on conflict (kind, recipient) do update
  set revision = outbox.revision + 1, requested_at = excluded.requested_at, address = excluded.address, language = excluded.language,
    due_at = case when outbox.failed_at is null then outbox.due_at else excluded.due_at end,
    attempts = case when outbox.failed_at is null then outbox.attempts else 0 end,
    last_error = null, failed_at = null`
const ENQUEUE = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address, language) values ($1, $2, $3, $3, $4, $5)
  ${MERGE}`)
const CLAIM = statement(
  skippingLocked(
    (skipLocked) => `
  with due as materialized (
    select id from outbox where failed_at is null and due_at <= $3 and (lease is null or $5) order by due_at, id limit $4 ${skipLocked}
  )
  update outbox set lease = $1, due_at = $2 where id in (select id from due)
  returning ${QUEUED_MAIL.columns}`,
  ),
  QUEUED_MAIL.fromRow,
)
const FIND_RECIPIENT = statement<RecipientRow>(`
  select ${USER.columns}, ${USER_SECRETS.columns}, ${USER_LANGUAGE.columns}, email_changes.email as new_email, email_changes.version as change_version
  from users left join email_changes on email_changes.user_id = users.id where users.email_key = $1 and ${isWanted('$2')}`)
const REMOVE = statement('delete from outbox where id = $1 and revision = $2')
const GIVE_UP = statement(`
  update outbox set lease = null, attempts = attempts + 1, failed_at = $3, last_error = $4 where id = $1 and lease = $2 and revision = $5`)
const MEASURE = statement<{ depth: number; oldest: number | null }>(`
  select count(*) as depth, min(requested_at) as oldest from outbox
  where failed_at is null and requested_at <= $1 and (attempts = 0 or last_error like '${OUTAGE_MARK}%')
    and exists (select 1 from outbox where failed_at is null and last_error like '${OUTAGE_MARK}%')`)

const QUEUE_NOTICE = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address, language)
  select $1, coalesce($4, email_key), $3, $3, coalesce($5, email), language from users where id = $2
  ${MERGE}`)
// An edit may name the address that the account already has.
const QUEUE_NOTICE_OF_ADDRESS = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address, language)
  select 'email_changed', $3, $2, $2, $4, language from users where id = $1 and email_key <> $3
  ${MERGE}`)
const QUEUE_NOTICE_OF_KEY = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address, language, detail)
  select 'key_leaked', users.email_key, $2, $2, users.email, users.language, coalesce(api_keys.prefix, '') || ' ' || api_keys.name
  from api_keys join users on users.id = api_keys.user_id where api_keys.id = $1
  ${MERGE}, detail = outbox.detail || $3 || excluded.detail`)

/** An address of an account, as it was typed and in lower case. */
export type Address = { readonly email: string; readonly emailKey: string }

const SELECT = `select ${OUTBOX_MAIL.columns} from outbox`
const LIST_NEWEST = statement(`${SELECT} where id < $1 order by id desc limit $2`, OUTBOX_MAIL.fromRow)
// Passes those that wait.
const LIST_FAILED = longRead(`${SELECT} where failed_at is not null and id < $1 order by id desc limit $2`, OUTBOX_MAIL.fromRow)
const COUNT = longRead<MailCounts>(`
  select count(*) - count(failed_at) as pending, count(failed_at) as failed,
    count(case when failed_at is null and attempts > 0 then 1 end) as retrying,
    min(case when failed_at is null then requested_at end) as "oldestAt",
    max(case when failed_at is null then ${SHOWN_ERROR} end) as "lastError"
  from outbox`)

/**
 * Whether an account gets a mail of this kind: banned accounts get none, only unverified accounts get a verification mail, and a new address
 * gets one while the account still asks for it.
 */
function isWanted(kind: string): string {
  return `users.banned = false and case ${kind} when 'reset' then true when 'sign_in' then true when 'verify' then users.verified = false else exists (
    select 1 from email_changes as asked
    where asked.user_id = users.id and asked.reset_version = users.reset_version and asked.confirmed_at is null) end`
}

type MailOptions = {
  /** Where it goes, if not to the address of the account. */
  readonly address?: string
  /** That of the person who requests it, for an account without a language. */
  readonly language?: Language | undefined
}

/** Queues a mail. Whether an account has the address is looked up at the moment of sending. */
export async function enqueueMail(
  db: Queries,
  kind: LinkMailKind,
  recipient: string,
  now: number,
  { address, language }: MailOptions = {},
): Promise<void> {
  await db.run(ENQUEUE, kind, recipient, now, address ?? null, language ?? null)
}

/** Claims mails that are due, the longest due first. No other process can claim them until the lease ends. */
export async function claimMails(db: Queries, { lease, leaseEndsAt, now, limit, takesOver }: Claim): Promise<ClaimedMail[]> {
  const mails = await db.all(CLAIM, lease, leaseEndsAt, now, limit, takesOver)
  return mails.map((mail) => ({ ...mail, lease }))
}

/** Undefined if the mail is not wanted: there is no account, or it gets no mail of this kind; the invitation is not open any more. */
export async function findRecipient(db: Queries, recipient: string, kind: LinkMailKind, now: number): Promise<Recipient | undefined> {
  if (kind === 'invitation') {
    const invitation = await findInvitationTo(db, recipient, now)
    return invitation && { kind, id: invitation.id, profile: invitation, to: invitation.email, version: invitation.version }
  }
  const row = await db.first(FIND_RECIPIENT, recipient, kind)
  if (row === undefined) return undefined
  const user = USER.fromRow(row)
  const { emailVersion, resetVersion } = USER_SECRETS.fromRow(row)
  const of = { kind, id: user.id, profile: user, to: user.email, ...USER_LANGUAGE.fromRow(row) }
  switch (kind) {
    case 'verify':
      return { ...of, version: emailVersion }
    case 'reset':
      return { ...of, version: resetVersion }
    case 'email_change':
      return { ...of, to: row.new_email ?? user.email, version: row.change_version ?? 0 }
    case 'sign_in':
      // Nobody signs in to an account that is not verified: its owner gets the link that verifies it.
      return user.verified ? { ...of, version: resetVersion } : { ...of, kind: 'verify', version: emailVersion }
  }
}

const REMOVE_UNWANTED = statement<RemovedMail>(
  skippingLocked(
    (skipLocked) => `
  with unwanted as materialized (
    select id, revision from outbox
    where id in (select id from outbox where failed_at is null and due_at <= $1 order by due_at, id limit $2)
      and failed_at is null and due_at <= $1 and kind in ('verify', 'reset', 'email_change', 'sign_in')
      and not exists (select 1 from users where email_key = recipient and ${isWanted('kind')})
    ${skipLocked}
  )
  delete from outbox where (id, revision) in (select id, revision from unwanted)
  returning id, kind, recipient, lower(coalesce(address, recipient)) as address, requested_at as "requestedAt"`,
  ),
)

/**
 * Removes the unwanted mails among the longest due ones, and notes those of an account in the history. Returns how many. A registration at
 * the same moment raises the revision: PostgreSQL locks the latest version of the row, but reads users as of its snapshot.
 */
export function removeUnwantedMails(db: Pick<Database, 'transaction'>, now: number, batch: number): Promise<number> {
  return db.transaction(async (tx) => {
    const removed = await tx.all(REMOVE_UNWANTED, now, batch)
    if (removed.length > 0) await recordUnwanted(tx, removed, now)
    return removed.length
  })
}

export const hasAccount = exists<Reads, [recipient: string]>('select id from users where email_key = $1')

/** Removes a mail that was sent or is not wanted. Returns false, and keeps the mail, if it was requested again in the meantime. */
export async function removeMail(db: Queries, { id, revision }: ClaimedMail): Promise<boolean> {
  return (await db.run(REMOVE, id, revision)) > 0
}

/** Postpones a mail because of an outage of the mail server or the database, which affects every address alike. */
export async function holdMail(db: Queries, mail: ClaimedMail, dueAt: number, reason: string): Promise<void> {
  await postponeMail(db, mail, dueAt, OUTAGE_MARK + reason)
}

/** Marks a mail as failed. Returns false if it was requested again, or if this process no longer holds the lease. */
export async function giveUpMail(db: Queries, { id, lease, revision }: ClaimedMail, now: number, reason: string): Promise<boolean> {
  return (await db.run(GIVE_UP, id, lease, now, reason, revision)) > 0
}

/**
 * During an outage: the number of mails requested before the given time that were not tried yet or wait for its end, and the age of the
 * oldest. Otherwise nothing. A mail that the server rejected is never counted: it would reveal that the address has an account.
 */
export async function measureOutbox(db: Queries, now: number, before: number): Promise<{ depth: number; oldestAgeSeconds: number }> {
  const row = await db.first(MEASURE, before)
  return { depth: row?.depth ?? 0, oldestAgeSeconds: row?.oldest == null ? 0 : Math.max(now - row.oldest, 0) / 1000 }
}

/** Queues a notice to the address of an account or, if it is given, to the address that the account had before the change. */
export function queueNotice(kind: NoticeKind, userId: number, now: number, former?: Address): FinalStatement {
  return { statement: QUEUE_NOTICE, values: [kind, userId, now, former?.emailKey ?? null, former?.email ?? null] }
}

/** Queues a notice to the former address of an account, if the account has another one now. */
export function queueNoticeOfNewAddress(userId: number, now: number, { email, emailKey }: Address): FinalStatement {
  return { statement: QUEUE_NOTICE_OF_ADDRESS, values: [userId, now, emailKey, email] }
}

/** Queues a notice that names the key: a line with its prefix and its name. Several keys at once are named in one mail. */
export function queueNoticeOfKey(keyId: string, now: number): FinalStatement {
  return { statement: QUEUE_NOTICE_OF_KEY, values: [keyId, now, '\n'] }
}

/** One page of mails in order of id, starting after the given id. */
export const listMailsAfter = listsIn<OutboxMail, [id: number, limit: number]>(OUTBOX_MAIL, 'where id > $1 order by id limit $2')

type MailPage = { readonly filter: 'all' | 'failed'; readonly beforeId: number | undefined; readonly limit: number }

/** One page of mails, the newest first, starting below the given id. */
export function listMailsBefore(db: Reads, { filter, beforeId = Number.MAX_SAFE_INTEGER, limit }: MailPage): Promise<OutboxMail[]> {
  return db.all(filter === 'all' ? LIST_NEWEST : LIST_FAILED, beforeId, limit)
}

export const findMail = findsIn<OutboxMail, [id: number]>(OUTBOX_MAIL, 'where id = $1')

/** The mails of one address that wait, the newest first. The address of a mail is that of its account, or another one. */
export const listWaitingMailsTo = listsIn<OutboxMail, [recipient: string, limit: number]>(
  OUTBOX_MAIL,
  'where failed_at is null and lower(coalesce(address, recipient)) = $1 order by id desc limit $2',
)

export async function countMails(db: Reads): Promise<MailCounts> {
  return (await db.first(COUNT)) ?? { pending: 0, failed: 0, retrying: 0, oldestAt: null, lastError: null }
}
