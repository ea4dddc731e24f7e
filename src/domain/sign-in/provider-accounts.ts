import type { IdentityRow, ProvenIdentity } from '../../model/provider.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account, UserRow } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import { deleteApiKeysOfUser } from '../../storage/repositories/keys/key.repository.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import { countSessions, deleteSessionsOfUser } from '../../storage/repositories/sessions/session.repository.ts'
import { deleteRecoveryCodes, deleteTotpSecret, endLoginChallenges } from '../../storage/repositories/sign-in/factor.repository.ts'
import { clearUnproven, deleteIdentities, insertIdentity, markUnproven } from '../../storage/repositories/sign-in/identity.repository.ts'
import { deletePasskeys } from '../../storage/repositories/sign-in/passkey.repository.ts'
import { findUserById, lockAccounts, takeOverUser } from '../../storage/repositories/users/user.repository.ts'
import { foundUser } from '../changes/callers.ts'
import type { ChangeTransaction } from '../changes/changes.ts'
import { addAccount } from '../users/user-creation.ts'
import { emailKey, parseEmail } from '../values/email.ts'
import { parseName } from '../values/limits.ts'

/** More than an account may have. */
const ALL_KEYS = 10_000
const NO_NAME = '-'

/** What a provider has said, as it is stored, and the language of the browser. The address was checked, and the names can be shown. */
type KnownPerson = Pick<IdentityRow, 'provider' | 'issuer' | 'subject' | 'email'> &
  Pick<ProvenIdentity, 'isEmailVerified'> &
  Pick<UserRow, 'firstName' | 'lastName' | 'language'>

/** Without an address, nobody could reset a password or get a notice, so that there is no account. */
export function personOf(identity: ProvenIdentity): KnownPerson {
  const { provider, issuer, subject, isEmailVerified } = identity
  const email = parseEmail(identity.email ?? '')
  if (email === undefined) throw new Refusal('provider_without_email')
  const firstName = parseName(identity.firstName ?? '') ?? NO_NAME
  return { provider, issuer, subject, email, isEmailVerified, firstName, lastName: parseName(identity.lastName ?? '') ?? NO_NAME }
}

/** Connects an account here to an account at a provider. False if one of them is connected already. */
export async function connect(
  tx: ChangeTransaction,
  userId: number,
  { provider, issuer, subject, email }: Pick<IdentityRow, 'provider' | 'issuer' | 'subject' | 'email'>,
  now: number,
) {
  if (!(await insertIdentity(tx, { provider, issuer, subject, email, userId, connectedAt: now }))) return false
  tx.record({ kind: 'provider.connected', target: userId, changed: [provider] })
  return true
}

/**
 * Ends what another provider opens for the person who has shown that the address of the account is theirs: always, or only if somebody else
 * may have registered the account with this address beforehand. Returns whether that may be so.
 */
export async function endIdentities(tx: ChangeTransaction, userId: number, which: 'all' | 'unproven'): Promise<boolean> {
  const isUnproven = await clearUnproven(tx, userId)
  if (which === 'unproven' && !isUnproven) return false
  for (const provider of await deleteIdentities(tx, userId))
    tx.record({ kind: 'provider.disconnected', target: userId, changed: [provider] })
  return isUnproven
}

/** A new account without a password. If the provider has not verified the address, its owner gets a mail with a link. Refuses if it is taken. */
export async function addAccountOf(tx: ChangeTransaction, person: KnownPerson, now: number): Promise<Account> {
  const { email, firstName, lastName, language, isEmailVerified: verified } = person
  const profile = { email, firstName, lastName, language }
  const userId = await addAccount(tx, { ...profile, role: 'user', verified, passwordHash: NO_PASSWORD, createdAt: now })
  if (!(await connect(tx, userId, person, now))) throw new Refusal('email_taken', 'the identity was connected a moment ago')
  if (!verified) {
    await markUnproven(tx, userId)
    await enqueueMail(tx, 'verify', emailKey(email), now)
  }
  return foundUser(await findUserById(tx, userId))
}

/**
 * Gives an account whose address was never verified to the person who has shown that the address is theirs. Whoever registered it may be
 * somebody else, so that nothing that opened it before opens it afterwards. Refuses if it was verified or banned a moment ago.
 */
export async function takeOver(
  tx: ChangeTransaction,
  { id, passwordHash, totp, passkeys }: Account,
  person: KnownPerson,
  now: number,
): Promise<Account> {
  await lockAccounts(tx, id, id)
  if (!(await takeOverUser(tx, id, NO_PASSWORD, person.language ?? null))) throw new Refusal('email_taken', 'the account has changed')
  await endSessions(tx, id)
  const keys = await deleteApiKeysOfUser(tx, id, ALL_KEYS)
  await deleteTotpSecret(tx, id)
  await deleteRecoveryCodes(tx, id)
  await deletePasskeys(tx, id)
  await endLoginChallenges(tx, id)
  await endIdentities(tx, id, 'all')
  if (passwordHash !== NO_PASSWORD) tx.record({ kind: 'user.password_changed', target: id })
  if (totp || passkeys > 0) tx.record({ kind: 'factor.reset', target: id })
  if (keys > 0) tx.record({ kind: 'key.revoked', target: id, count: keys })
  tx.record({ kind: 'user.verified', target: id })
  if (!(await connect(tx, id, person, now))) throw new Refusal('email_taken', 'the identity was connected a moment ago')
  return foundUser(await findUserById(tx, id))
}

/**
 * For somebody who signs in by mail: ends what others may have opened, who registered the account. It was verified by a link, which says
 * nothing about who registered it.
 */
export async function endStrangers(tx: ChangeTransaction, userId: number): Promise<void> {
  if (!(await endIdentities(tx, userId, 'unproven'))) return
  await endSessions(tx, userId)
  await endLoginChallenges(tx, userId)
}

async function endSessions(tx: ChangeTransaction, userId: number): Promise<void> {
  const count = await countSessions(tx, userId)
  await deleteSessionsOfUser(tx, userId)
  if (count > 0) tx.record({ kind: 'session.revoked', target: userId, count })
}
