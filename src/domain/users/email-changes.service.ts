import { randomInt } from 'node:crypto'
import type { Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User } from '../../model/user.ts'
import { type Reads, UniqueViolation } from '../../storage/database.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import { confirmEmailChange, findEmailChange, saveEmailChange } from '../../storage/repositories/users/email-change.repository.ts'
import { findUserByEmail, findUserById } from '../../storage/repositories/users/user.repository.ts'
import { mailedTokenRefusal, readToken } from '../changes/callers.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

export type EmailChanges = ReturnType<typeof createEmailChanges>

// Every request has its own number, so that the link of an earlier one ends.
const MAX_VERSION = 2 ** 47

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'tokens' | 'observer' | 'now'>

export function createEmailChanges({ reads, changes, tokens, observer, now }: Parts) {
  const refused = mailedTokenRefusal(observer, 'email_change')

  /** The account and its request, if the link of the request still works. */
  async function accept(db: Reads, userId: number, version: number | undefined) {
    const user = await findUserById(db, userId)
    if (user === undefined) throw refused('user_not_found')
    if (user.banned) throw refused('banned_user')
    const change = await findEmailChange(db, userId)
    if (change === undefined || change.version !== version) throw refused('invalid_token')
    if (change.confirmedAt !== undefined) throw refused(change.email === user.email ? 'already_verified' : 'invalid_token')
    if (change.resetVersion !== user.resetVersion) throw refused('invalid_token')
    return { user, change }
  }

  return {
    /** Changes the address of an account to the one that the token was mailed to. */
    async confirm(origin: Origin, token: string): Promise<void> {
      const { userId, version } = readToken(tokens, observer, token, 'email_change', 'email_change')
      await accept(reads, userId, version)
      // The token is the permission. The state may have changed since it was read: the change locks the account, so that only one of
      // many parallel requests succeeds.
      const confirming = changes.toAccount({ caller: 'operator', origin }, { userId, allowed: 'owner' }, async (tx) => {
        const { user, change } = await accept(tx, userId, version)
        await confirmEmailChange(tx, userId, change.email, emailKey(change.email), now())
        tx.record({ kind: 'user.edited', target: userId, changed: ['email'] })
        if (!user.verified) tx.record({ kind: 'user.verified', target: userId })
      })
      await refusingTakenEmail(confirming, 'taken since the request')
    },
  }
}

/** Refuses a change if another account has its new address. */
export function refusingTakenEmail<Result>(change: Promise<Result>, reason?: string): Promise<Result> {
  return change.catch((error: unknown) => {
    throw error instanceof UniqueViolation ? new Refusal('email_taken', reason, { cause: error }) : error
  })
}

/**
 * Notes the address that an account asks for and queues the mail with the link. Refuses an address that another account has, as a direct
 * change would.
 */
export async function requestEmailChange(tx: ChangeTransaction, user: User, email: string, now: number): Promise<void> {
  const owner = await findUserByEmail(tx, emailKey(email))
  if (owner !== undefined && owner.id !== user.id) throw new Refusal('email_taken')
  await saveEmailChange(tx, user.id, email, randomInt(MAX_VERSION), now)
  await enqueueMail(tx, 'email_change', emailKey(user.email), now, { address: email })
  tx.record({ kind: 'mail.requested', target: user.id })
}
