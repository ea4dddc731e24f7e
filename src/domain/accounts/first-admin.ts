import type { Passwords } from '../../security/password.ts'
import type { Database } from '../../storage/database.ts'
import { promoteByEmail } from '../../storage/repositories/admin.repository.ts'
import { findUserByEmail, insertUser } from '../../storage/repositories/user.repository.ts'
import { emailKey } from '../values/email.ts'

type Parts = { readonly db: Database; readonly passwords: Passwords; readonly now: () => number }

const FIRST_NAME = 'Admin'
const LAST_NAME = 'Latchkey'

/**
 * Makes sure that a verified admin with this address exists. An account that is there is promoted and verified, and is
 * otherwise left alone: its password is its owner's, and a ban is somebody's decision. Any number of processes may do so at once.
 * Gives the id of an account that was no admin before: whoever has it, and nobody knows who that is, is one now.
 */
export async function ensureAdmin(
  { db, passwords, now }: Parts,
  admin: { readonly email: string; readonly password: string },
): Promise<{ readonly promoted: number | undefined }> {
  const passwordHash = await passwords.hash(admin.password)
  const key = emailKey(admin.email)
  const account = { email: admin.email, emailKey: key, firstName: FIRST_NAME, lastName: LAST_NAME, passwordHash }
  return db.transaction(async (tx) => {
    const id = await insertUser(tx, { ...account, role: 'admin', verified: true, createdAt: now() })
    if (id !== undefined || !(await promoteByEmail(tx, key))) return { promoted: undefined }
    return { promoted: (await findUserByEmail(tx, key))?.id }
  })
}
