import type { Event } from '../../model/event.ts'
import type { User } from '../../model/user.ts'
import type { FinalStatement } from '../../storage/database.ts'
import { queueNotice, queueNoticeOfKey, queueNoticeOfNewAddress } from '../../storage/repositories/mail/mail.repository.ts'
import type { FollowUp } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

/** Queues mails that tell the owner of an account about a change of its security, in the transaction of the change. */
export const queueNotices: FollowUp = (events, before) => events.flatMap((event) => noticesOf(event, before))

/** Whether the owner of the account gets a mail about the event. An edit may have left the address as it is. */
export function isNoticed({ kind, changed }: Event): boolean {
  switch (kind) {
    case 'user.password_changed':
    case 'user.password_reset':
    case 'user.promoted':
    case 'key.leaked':
      return true
    case 'user.edited':
      return changed?.includes('email') === true
    default:
      return false
  }
}

function noticesOf(event: Event, before: User | undefined): readonly FinalStatement[] {
  const { kind, target, keyId, at } = event
  if (!isNoticed(event) || target === undefined) return []
  // The owner reads the address that the account had: a new one may be that of an intruder.
  const former = before?.id === target ? { email: before.email, emailKey: emailKey(before.email) } : undefined
  if (kind === 'user.edited') return former ? [queueNoticeOfNewAddress(target, at, former)] : []
  if (kind === 'key.leaked') return keyId === undefined ? [] : [queueNoticeOfKey(keyId, at)]
  return [queueNotice(kind === 'user.promoted' ? 'admin_role' : 'password_changed', target, at, former)]
}
