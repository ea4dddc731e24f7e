import type { Operator } from '../../model/caller.ts'
import type { Reads } from '../../storage/database.ts'
import { findAnyAdmin, findUserByEmail, insertUser, promoteByEmail } from '../../storage/repositories/users/user.repository.ts'
import type { DomainParts } from '../changes/parts.ts'
import { recordCreation } from '../users/user-creation.ts'
import { emailKey } from '../values/email.ts'

type Parts = Pick<DomainParts, 'changes' | 'passwords' | 'now'>

const FIRST_NAME = 'Admin'
const LAST_NAME = 'Latchkey'

/**
 * Ensures that a verified admin with this address exists. An existing account is promoted and verified; its password and a ban are not
 * changed. Safe to run in several processes at once. Returns the id of an existing account if it was promoted, so that the operator can
 * check who owns it.
 */
export async function ensureAdmin(
  { changes, passwords, now }: Parts,
  { origin }: Operator,
  admin: { readonly email: string; readonly password: string },
): Promise<{ readonly promoted: number | undefined }> {
  const passwordHash = await passwords.hash(admin.password)
  const key = emailKey(admin.email)
  const account = { email: admin.email, emailKey: key, firstName: FIRST_NAME, lastName: LAST_NAME, passwordHash }
  return changes.withoutCaller(origin, async (tx) => {
    const id = await insertUser(tx, { ...account, role: 'admin', verified: true, createdAt: now() })
    if (id !== undefined) {
      recordCreation(tx, id, 'admin')
      return { promoted: undefined }
    }
    const former = await findUserByEmail(tx, key)
    if (former === undefined || !(await promoteByEmail(tx, key))) return { promoted: undefined }
    if (former.role !== 'admin') tx.record({ kind: 'user.promoted', target: former.id })
    if (!former.verified) tx.record({ kind: 'user.verified', target: former.id })
    return { promoted: former.id }
  })
}

/** Whether ensureAdmin() would create the account, and so set the password. */
export async function isMissing(reads: Reads, email: string): Promise<boolean> {
  return (await findUserByEmail(reads, emailKey(email))) === undefined
}

export async function hasAdmin(reads: Reads): Promise<boolean> {
  return (await findAnyAdmin(reads)) !== undefined
}
