import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createUser } from '../../../src/domain/users/user-creation.ts'
import type { Role } from '../../../src/model/user.ts'
import { createPasswords } from '../../../src/security/password.ts'
import type { Database } from '../../../src/storage/database.ts'
import { OPERATOR } from '../http/origins.ts'
import type { CommandLine } from '../processes/command-line.ts'

/** Creates three accounts with the ids 1 to 3: Ada, an admin, and Bob and Cem, users. */
export async function threeAccounts({ database }: CommandLine): Promise<Database> {
  const db = await database()
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const parts = { changes: createChanges({ db, now: Date.now, followUps: () => [], onEvent: () => undefined }), passwords, now: Date.now }
  const people: [string, string, Role][] = [
    ['Ada', 'Ünal', 'admin'],
    ['Bob', 'Byrne-Jones', 'user'],
    ['Cem', 'Can', 'user'],
  ]
  for (const [firstName, lastName, role] of people) {
    await createUser(parts, OPERATOR, { email: `${firstName}@example.com`, password: 'correct horse', firstName, lastName }, role)
  }
  return db
}

export const ADA = { id: 1, email: 'Ada@example.com', first_name: 'Ada', last_name: 'Ünal', role: 'admin', banned: false, verified: true }
export const BOB = {
  id: 2,
  email: 'Bob@example.com',
  first_name: 'Bob',
  last_name: 'Byrne-Jones',
  role: 'user',
  banned: false,
  verified: true,
}
export const CEM = { id: 3, email: 'Cem@example.com', first_name: 'Cem', last_name: 'Can', role: 'user', banned: false, verified: true }
