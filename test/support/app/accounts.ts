import { loadConfig } from '../../../src/config/load.ts'
import { checkUser } from '../../../src/domain/import/check-user.ts'
import { createImport } from '../../../src/domain/import/import.service.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { createServices, type Parts, type Services } from '../../../src/services.ts'
import type { Database } from '../../../src/storage/database.ts'
import { OPERATOR, ORIGIN } from '../http/origins.ts'
import type { CommandLine } from '../processes/command-line.ts'
import { FAST_HASHING, TEST_SECRET } from './start-app.ts'

/** The services of a database that a process or a command uses, with the secret of the tests. */
export function servicesOn(db: Database, further: Partial<Parts> = {}): Services {
  const config = loadConfig({ SECRET_KEY: TEST_SECRET })
  const passwords = createPasswords(FAST_HASHING)
  return createServices(config, { db, secrets: () => secretsOf(config), now: Date.now, passwords, ...further })
}

// The trail of a test starts with what the test does.
const WITHOUT_EVENTS = { followUps: [] }

function view<R extends 'admin' | 'user'>(id: number, firstName: string, lastName: string, role: R) {
  return { id, email: `${firstName}@example.com`, first_name: firstName, last_name: lastName, role, banned: false, verified: true }
}

export const ADA = view(1, 'Ada', 'Ünal', 'admin')
export const BOB = view(2, 'Bob', 'Byrne-Jones', 'user')
export const CEM = view(3, 'Cem', 'Can', 'user')

/** Creates the accounts of Ada, an admin, and of Bob and Cem, users. */
export async function threeAccounts({ database }: CommandLine): Promise<Database> {
  const db = await database()
  const { registration } = servicesOn(db, WITHOUT_EVENTS)
  for (const { email, first_name: firstName, last_name: lastName, role } of [ADA, BOB, CEM])
    await registration.create(OPERATOR, { email, password: 'correct horse', firstName, lastName, role, verified: true })
  return db
}

/** Imports a verified user as `latchkey user import` does. */
export async function importUser(db: Database, user: object): Promise<void> {
  const { write } = createImport(servicesOn(db, WITHOUT_EVENTS), ORIGIN, { onConflict: 'skip', keepIds: false })
  await write([checkUser({ verified: true, ...user }, 1, { withoutPasswords: false })])
}
