import type { Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { isSameCode } from '../../security/first-admin-code.ts'
import { findAnyAdmin } from '../../storage/repositories/accounts/admin.repository.ts'
import type { DomainParts } from '../parts.ts'
import { addAccount, type Registration } from './user-creation.ts'

/** Lets the person at the terminal of a new service create the first admin in a browser. */
export type FirstAdmin = {
  /** Whether there is a code, and no admin. */
  isOpen(): Promise<boolean>
  /** Creates a verified admin, and refuses a wrong code. Returns false, and creates nothing, if there is an admin. */
  create(origin: Origin, code: string, registration: Registration): Promise<boolean>
}

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'passwords' | 'now'> & {
  /** The code that the terminal shows; undefined where there is none. */
  readonly code: string | undefined
}

export function createFirstAdmin({ reads, changes, passwords, now, code }: Parts): FirstAdmin {
  let openCode = code

  /** Forgets the code as soon as there is an admin. */
  async function currentCode(): Promise<string | undefined> {
    if (openCode !== undefined && (await findAnyAdmin(reads)) !== undefined) openCode = undefined
    return openCode
  }

  return {
    isOpen: async () => (await currentCode()) !== undefined,
    async create(origin, given, { password, ...profile }) {
      const expected = await currentCode()
      if (expected === undefined) return false
      if (!isSameCode(given, expected)) throw new Refusal('wrong_code', 'wrong code for the first admin')
      const passwordHash = await passwords.hash(password, origin.signal)
      const isCreated = await changes.withoutCaller(origin, async (tx) => {
        // Of several forms at once, in any process, one creates an admin.
        await tx.lock('admins')
        if ((await findAnyAdmin(tx)) !== undefined) return false
        await addAccount(tx, { ...profile, passwordHash, role: 'admin', verified: true, createdAt: now() })
        return true
      })
      openCode = undefined
      return isCreated
    },
  }
}
