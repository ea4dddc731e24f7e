import type { NoticeKind } from '../../../model/mail.ts'
import { type FinalStatement, statement } from '../../database.ts'

// A notice that still waits is merged with the next one about the same. One that was given up is tried again.
const MERGE = `
  on conflict (kind, recipient) do update
  set revision = outbox.revision + 1, requested_at = excluded.requested_at, address = excluded.address,
    due_at = case when outbox.failed_at is null then outbox.due_at else excluded.due_at end,
    attempts = case when outbox.failed_at is null then outbox.attempts else 0 end,
    last_error = null, failed_at = null`
const QUEUE = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address)
  select $1, coalesce($4, email_key), $3, $3, coalesce($5, email) from users where id = $2
  ${MERGE}`)
// An edit may name the address that the account already has.
const QUEUE_OF_FORMER_ADDRESS = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address)
  select 'email_changed', $3, $2, $2, $4 from users where id = $1 and email_key <> $3
  ${MERGE}`)
const QUEUE_OF_KEY = statement(`
  insert into outbox (kind, recipient, requested_at, due_at, address, detail)
  select 'key_leaked', users.email_key, $2, $2, users.email, coalesce(api_keys.prefix, '') || ' ' || api_keys.name
  from api_keys join users on users.id = api_keys.user_id where api_keys.id = $1
  ${MERGE}, detail = outbox.detail || $3 || excluded.detail`)

/** An address of an account, as it was typed and in lower case. */
export type Address = { readonly email: string; readonly emailKey: string }

/** Queues a notice to the address of an account or, if it is given, to the address that the account had before the change. */
export function queueNotice(kind: NoticeKind, userId: number, now: number, former?: Address): FinalStatement {
  return { statement: QUEUE, values: [kind, userId, now, former?.emailKey ?? null, former?.email ?? null] }
}

/** Queues a notice to the former address of an account, if the account has another one now. */
export function queueNoticeOfNewAddress(userId: number, now: number, { email, emailKey }: Address): FinalStatement {
  return { statement: QUEUE_OF_FORMER_ADDRESS, values: [userId, now, emailKey, email] }
}

/** Queues a notice that names the key: a line with its prefix and its name. Several keys at once are named in one mail. */
export function queueNoticeOfKey(keyId: string, now: number): FinalStatement {
  return { statement: QUEUE_OF_KEY, values: [keyId, now, '\n'] }
}
