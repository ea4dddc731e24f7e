import type { Origin } from '../../model/caller.ts'
import type { Account } from '../../model/user.ts'
import { LIFETIME_MINUTES } from '../../security/token.ts'
import { countSignInCode, useSignIn } from '../../storage/repositories/sign-in/email-sign-in.repository.ts'
import { findUserByEmail, findUserById } from '../../storage/repositories/users/user.repository.ts'
import { claimsOf } from '../changes/callers.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'
import { requestMail } from './registration.service.ts'

export type EmailSignIn = ReturnType<typeof createEmailSignIn>

/** What a sign-in mail contains: a token in its link, and a code. */
export type MailedProof = { readonly token: string } | { readonly email: string; readonly code: string }

type Prepared = {
  /** The account that it would open. */
  readonly user: Account | undefined
  /** Uses the link and the code. False if they do not work: then a wrong code is counted. */
  use(tx: ChangeTransaction): Promise<boolean>
}

const LIFETIME_MS = LIFETIME_MINUTES.sign_in * 60_000

/** Signing in with a link or a code that is mailed to the address of an account. */
export function createEmailSignIn(parts: Omit<DomainParts, 'lists' | 'passwords' | 'observer'>) {
  const { reads, tokens, now } = parts

  async function prepareLink(token: string): Promise<Prepared> {
    const { userId, version } = claimsOf(tokens, token, 'sign_in') ?? {}
    const user = userId === undefined ? undefined : await findUserById(reads, userId)
    return {
      user,
      use: async (tx) =>
        user !== undefined && version !== undefined && useSignIn(tx, emailKey(user.email), version, user.resetVersion, 1, now()),
    }
  }

  async function prepareCode(email: string, code: string): Promise<Prepared> {
    const recipient = emailKey(email)
    const user = await findUserByEmail(reads, recipient)
    return {
      user,
      async use(tx) {
        const version = await countSignInCode(tx, recipient, now() + LIFETIME_MS)
        const isRight = tokens.isCodeOf(code, user?.id ?? 0, version)
        return isRight && user !== undefined && useSignIn(tx, recipient, version, user.resetVersion, 0, now())
      },
    }
  }

  return {
    /** Queues a mail. Costs the same whether or not the address has an account. */
    request: (origin: Origin, email: string) => requestMail(parts, origin, 'sign_in', email),
    prepare: (given: MailedProof) => ('token' in given ? prepareLink(given.token) : prepareCode(given.email, given.code)),
  }
}
