import type { Role } from '../../../src/model/user.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { createServices } from '../../../src/services.ts'
import type { Database } from '../../../src/storage/database.ts'
import { OPERATOR } from '../http/origins.ts'
import type { CommandLine } from '../processes/command-line.ts'
import { TEST_SECRET } from './start-app.ts'

/** Creates three accounts with the ids 1 to 3: Ada, an admin, and Bob and Cem, users. */
export async function threeAccounts({ database }: CommandLine): Promise<Database> {
  const db = await database()
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const { accounts } = createServices({ db, secrets: [new TextEncoder().encode(TEST_SECRET)], now: Date.now, passwords })
  const people: [string, string, Role][] = [
    ['Ada', 'Ünal', 'admin'],
    ['Bob', 'Byrne-Jones', 'user'],
    ['Cem', 'Can', 'user'],
  ]
  for (const [firstName, lastName, role] of people) {
    await accounts.create(OPERATOR, { email: `${firstName}@example.com`, password: 'correct horse', firstName, lastName }, role)
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
