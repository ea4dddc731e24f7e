import type { Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Role } from '../../model/user.ts'
import { insertUser } from '../../storage/repositories/user.repository.ts'
import type { DomainParts } from '../parts.ts'
import { emailKey } from '../values/email.ts'
import type { Registration } from './accounts.service.ts'

type Parts = Pick<DomainParts, 'changes' | 'passwords' | 'now'>

/** Creates a verified account for an operator. Returns its id. */
export async function createUser(
  { changes, passwords, now }: Parts,
  { origin }: Operator,
  { password, ...profile }: Registration,
  role: Role,
): Promise<number> {
  const passwordHash = await passwords.hash(password, origin.signal)
  return changes.withoutCaller(origin, async (tx) => {
    const account = { ...profile, emailKey: emailKey(profile.email), passwordHash, role, verified: true, createdAt: now() }
    const userId = await insertUser(tx, account)
    if (userId === undefined) throw new Refusal('email_taken')
    tx.record({ kind: 'user.registered', target: userId })
    return userId
  })
}
