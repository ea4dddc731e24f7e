import type { Actor, Operator, Origin } from '../../model/caller.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import { findUserById, markVerified } from '../../storage/repositories/users/user.repository.ts'
import { mailedTokenRefusal, readToken } from '../changes/callers.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { openSession } from '../sessions/sessions.service.ts'
import { addAccount, createUser, languageOf, type NewAccount, type Registrant } from '../users/user-creation.ts'
import { emailKey } from '../values/email.ts'

export type Registration = ReturnType<typeof createRegistration>

export function createRegistration(parts: Omit<DomainParts, 'lists'>) {
  const { reads, changes, tokens, passwords, observer, now, onMailQueued, languages } = parts
  const verifyRefused = mailedTokenRefusal(observer, 'verify_email')

  async function add<Opened>(
    origin: Origin,
    { password, ...profile }: Registrant,
    open: (tx: ChangeTransaction, userId: number) => Promise<Opened>,
  ): Promise<Opened> {
    const passwordHash = await passwords.hash(password, origin.signal)
    const opened = await changes.withoutCaller(origin, async (tx) => {
      const language = languageOf(origin, languages)
      const userId = await addAccount(tx, { ...profile, passwordHash, language, role: 'user', verified: false, createdAt: now() })
      await enqueueMail(tx, 'verify', emailKey(profile.email), now())
      return open(tx, userId)
    })
    onMailQueued()
    return opened
  }

  return {
    /** Creates an unverified account, queues its verification mail and opens a session that works once the account is verified. */
    register: (origin: Origin, registrant: Registrant) =>
      add(origin, registrant, (tx, userId) =>
        openSession(tx, tokens, { userId, method: 'password', secondFactor: false, origin, now: now() }),
      ),
    /** The same without a session, for somebody who signs in later. */
    signUp: (origin: Origin, registrant: Registrant) => add(origin, registrant, async () => undefined),
    create: (by: Actor | Operator, account: NewAccount) => createUser(parts, by, account),
    async verify(origin: Origin, token: string): Promise<void> {
      const { userId, version } = readToken(tokens, observer, token, 'verify', 'verify_email')
      const user = await findUserById(reads, userId)
      if (user === undefined) throw verifyRefused('user_not_found')
      if (user.banned) throw verifyRefused('banned_user')
      if (user.verified) throw verifyRefused('already_verified')
      if (user.emailVersion !== version) throw verifyRefused('invalid_token')
      await changes.withoutCaller(origin, async (tx) => {
        // The state may have changed since it was read. The statement checks it again, so that only one of many parallel requests succeeds.
        if (!(await markVerified(tx, userId, version))) throw verifyRefused('already_verified')
        tx.record({ kind: 'user.verified', target: userId })
      })
    },
    resendVerification: (origin: Origin, email: string) => requestMail(parts, origin, 'verify', email),
  }
}

type MailParts = Pick<DomainParts, 'changes' | 'now' | 'onMailQueued' | 'languages'>

/** Queues a mail that anybody may request for an address. If the account has no language, it is in that of the browser. */
export async function requestMail(parts: MailParts, origin: Origin, kind: 'verify' | 'reset' | 'sign_in', email: string): Promise<void> {
  await parts.changes.withoutCaller(origin, async (tx) => {
    await enqueueMail(tx, kind, emailKey(email), parts.now(), { language: languageOf(origin, parts.languages) })
    tx.record({ kind: 'mail.requested' })
  })
  parts.onMailQueued()
}
