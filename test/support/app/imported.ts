import { createChanges } from '../../../src/domain/changes/changes.ts'
import { checkUser } from '../../../src/domain/import/check-user.ts'
import { createImport } from '../../../src/domain/import/import.service.ts'
import { type Database, readsOf } from '../../../src/storage/database.ts'
import { ORIGIN } from '../http/origins.ts'

/** Imports a verified user as `latchkey user import` does. */
export async function importUser(db: Database, user: object): Promise<void> {
  const parts = {
    reads: readsOf(db),
    changes: createChanges({ db, now: Date.now, followUps: () => [], onEvent: () => undefined }),
    now: Date.now,
  }
  const { write } = createImport(parts, ORIGIN, { onConflict: 'skip', keepIds: false })
  await write([checkUser({ verified: true, ...user }, 1, { withoutPasswords: false })])
}
