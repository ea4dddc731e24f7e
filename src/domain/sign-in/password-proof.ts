import type { Actor, Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account } from '../../model/user.ts'
import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import { listForeignKinds } from '../../storage/repositories/import/import.repository.ts'
import { findUserByEmail, findUserById } from '../../storage/repositories/users/user.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'
import { codePointLength, PASSWORD_MAX_LENGTH } from '../values/text.ts'

export type PasswordProof = ReturnType<typeof createPasswordProof>

type Parts = Pick<DomainParts, 'reads' | 'passwords' | 'observer'> & {
  /** Counts a failed login of an existing account, without delaying the request. */
  readonly noteFailedLogin: (userId: number, origin: Origin) => void
}

/** What a password is compared with. */
type Claim = {
  readonly origin: Origin
  readonly password: string
  /** Known before the account is read. */
  readonly userId?: number
  read(): Promise<{ readonly account: Account | undefined; readonly foreignKinds?: readonly string[] }>
}

/** The only place where a given password is compared with that of an account. A wrong one leaves the event of a failed login. */
export function createPasswordProof({ reads, passwords, observer, noteFailedLogin }: Parts) {
  async function prove({ origin, password, userId, read }: Claim): Promise<Account> {
    function refused(reason: string, failedId: number | undefined): Refusal {
      if (failedId !== undefined) noteFailedLogin(failedId, origin)
      observer.loginAttempt('invalid_password')
      return new Refusal('wrong_credentials', reason)
    }
    if (codePointLength(password) > PASSWORD_MAX_LENGTH) throw refused('the password is longer than any valid one', userId)
    passwords.requireRoom()
    const { account, foreignKinds } = await read()
    const isMatch = await passwords.matches(password, account?.passwordHash, origin.signal, foreignKinds)
    // Counted after the password was compared, in memory: an attempt takes as long whether or not the account exists.
    if (account === undefined) throw refused('no such account', userId)
    if (!isMatch) throw refused(`wrong password for user ${account.id}`, account.id)
    return account
  }

  return {
    /** Returns the account of an address. Costs the same whether or not there is one. */
    ofAddress: (origin: Origin, email: string, password: string): Promise<Account> =>
      prove({
        origin,
        password,
        async read() {
          const kinds = listForeignKinds(reads, MAX_LISTED_KINDS)
          const [account, foreignKinds] = await Promise.all([findUserByEmail(reads, emailKey(email)), kinds])
          return { account, foreignKinds }
        },
      }),
    /** Returns the account of a caller, who proves once more who they are. */
    ofCaller: ({ caller, origin }: Actor, password: string): Promise<Account> =>
      prove({ origin, password, userId: caller.user.id, read: async () => ({ account: await findUserById(reads, caller.user.id) }) }),
  }
}

/** Refuses a change inside its transaction if the account has got another password since the proof. */
export function requireSamePassword(proven: Pick<Account, 'passwordHash'>): (account: Account) => void {
  return ({ id, passwordHash }) => {
    if (passwordHash !== proven.passwordHash) throw new Refusal('wrong_credentials', `the password of user ${id} changed meanwhile`)
  }
}

/** Lets the hashes of other systems that accounts have be measured before the first login, which would have to wait for it. */
export async function meetForeignHashes({ reads, passwords }: Pick<DomainParts, 'reads' | 'passwords'>): Promise<void> {
  // During an outage of the database, the first login meets them.
  const kinds = await listForeignKinds(reads, MAX_LISTED_KINDS).catch(() => [])
  if (kinds.length > 0) await passwords.matches('', undefined, undefined, kinds)
}
