import type { Origin } from '../../model/caller.ts'
import { findAnyAdmin } from '../../storage/repositories/users/user.repository.ts'
import type { DomainParts } from '../changes/parts.ts'
import { addAccount, type Registration } from '../users/user-creation.ts'

/** Lets the person at the terminal of a new service create the first admin in a browser. The route checks the token of the terminal. */
export type FirstAdmin = {
  /** Whether there is a form, and no admin. */
  isOpen(): Promise<boolean>
  /** Creates a verified admin. Returns false, and creates nothing, if there is an admin. */
  create(origin: Origin, registration: Registration): Promise<boolean>
}

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'passwords' | 'now'> & {
  /** Whether the terminal shows a link to the form. */
  readonly hasForm: boolean
}

export function createFirstAdmin({ reads, changes, passwords, now, hasForm }: Parts): FirstAdmin {
  let isUsable = hasForm

  /** Closes the form for good as soon as there is an admin. */
  async function isOpen(): Promise<boolean> {
    if (isUsable && (await findAnyAdmin(reads)) !== undefined) isUsable = false
    return isUsable
  }

  return {
    isOpen,
    async create(origin, { password, ...profile }) {
      if (!(await isOpen())) return false
      const passwordHash = await passwords.hash(password, origin.signal)
      const isCreated = await changes.withoutCaller(origin, async (tx) => {
        // Of several forms at once, in any process, one creates an admin.
        await tx.lock('admins')
        if ((await findAnyAdmin(tx)) !== undefined) return false
        await addAccount(tx, { ...profile, passwordHash, role: 'admin', verified: true, createdAt: now() })
        return true
      })
      isUsable = false
      return isCreated
    },
  }
}
