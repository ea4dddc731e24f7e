import type { Operator, Origin } from '../../model/caller.ts'
import type { Reads } from '../../storage/database.ts'
import { findUserByEmail, hasAdmin, insertUser, promoteByEmail } from '../../storage/repositories/users/user.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { addAccount, languageOf, type Registrant, recordCreation } from '../users/user-creation.ts'
import { emailKey } from '../values/email.ts'

export type FirstAdmin = ReturnType<typeof createFirstAdmin>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'passwords' | 'now' | 'languages'> & {
  /** Contained in the link that the terminal shows; undefined where there is no form. */
  readonly token: string | undefined
}

const FIRST_NAME = 'Admin'
const LAST_NAME = 'Latchkey'

/** Lets the person at the terminal of a new service create the first admin in a browser. The route checks the token of the terminal. */
export function createFirstAdmin({ reads, changes, passwords, now, languages, token }: Parts) {
  let isUsable = token !== undefined

  /** Whether there is a form, and no admin. Closes the form for good as soon as there is one. */
  async function isOpen(): Promise<boolean> {
    if (isUsable && (await hasAdmin(reads))) isUsable = false
    return isUsable
  }

  return {
    token,
    isOpen,
    /** Creates a verified admin. Returns false, and creates nothing, if there is an admin. */
    async create(origin: Origin, { password, ...profile }: Registrant): Promise<boolean> {
      if (!(await isOpen())) return false
      const passwordHash = await passwords.hash(password, origin.signal)
      const isCreated = await changes.withoutCaller(origin, async (tx) => {
        // Of several forms at once, in any process, one creates an admin.
        await tx.lock('admins')
        if (await hasAdmin(tx)) return false
        const language = languageOf(origin, languages)
        await addAccount(tx, { ...profile, passwordHash, language, role: 'admin', verified: true, createdAt: now() })
        return true
      })
      isUsable = false
      return isCreated
    },
  }
}

/**
 * Ensures that a verified admin with this address exists. An existing account is promoted and verified; its password and a ban are not
 * changed. Safe to run in several processes at once. Returns the id of an existing account if it was promoted, so that the operator can
 * check who owns it.
 */
export async function ensureAdmin(
  { changes, passwords, now }: Pick<DomainParts, 'changes' | 'passwords' | 'now'>,
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
