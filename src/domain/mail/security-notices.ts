import type { Event, EventKind } from '../../model/event.ts'
import type { NoticeKind } from '../../model/mail.ts'
import type { User } from '../../model/user.ts'
import type { FinalStatement, Transaction } from '../../storage/database.ts'
import { queueNotice, queueNoticeOfKey, queueNoticeOfNewAddress } from '../../storage/repositories/mail/mail.repository.ts'
import type { FollowUp } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

/** Queues mails that tell the owner of an account about a change of its security, in the transaction of the change. */
export const queueNotices: FollowUp = (events, before) => events.flatMap((event) => noticesOf(event, before))

/** Whether the owner of the account gets a mail about the event. An edit may have left the address as it is. */
export function isNoticed({ kind, changed }: Event): boolean {
  return kind === 'user.edited' ? changed?.includes('email') === true : kind === 'key.leaked' || NOTICES[kind] !== undefined
}

const NOTICES: Partial<Record<EventKind, NoticeKind>> = {
  'user.password_changed': 'password_changed',
  'user.password_reset': 'password_changed',
  'user.promoted': 'admin_role',
  'factor.added': 'factor_added',
  'factor.removed': 'factor_removed',
  'factor.reset': 'factor_reset',
  'passkey.added': 'passkey_added',
  'passkey.removed': 'passkey_removed',
  'provider.connected': 'provider_connected',
  'provider.disconnected': 'provider_disconnected',
}

/** The use of a recovery code is part of a login and has no separate event. */
export async function noticeRecoveryCode(tx: Transaction, userId: number, now: number): Promise<void> {
  const { statement, values } = queueNotice('recovery_code_used', userId, now)
  await tx.run(statement, ...values)
}

function noticesOf(event: Event, before: User | undefined): readonly FinalStatement[] {
  const { kind, target, keyId, at } = event
  if (!isNoticed(event) || target === undefined) return []
  // The owner reads the address that the account had: a new one may be that of an intruder.
  const former = before?.id === target ? { email: before.email, emailKey: emailKey(before.email) } : undefined
  if (kind === 'user.edited') return former ? [queueNoticeOfNewAddress(target, at, former)] : []
  if (kind === 'key.leaked') return keyId === undefined ? [] : [queueNoticeOfKey(keyId, at)]
  const notice = NOTICES[kind]
  return notice === undefined ? [] : [queueNotice(notice, target, at, former)]
}
