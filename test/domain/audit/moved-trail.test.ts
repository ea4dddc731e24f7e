import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { verifyTrail } from '../../../src/domain/audit/verification.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createAuditSeals } from '../../../src/security/audit-seals.ts'
import { type Database, readsOf, statement } from '../../../src/storage/database.ts'
import { transfer, withinSqlite } from '../../../src/storage/maintenance/transfer.ts'
import { withinPostgres } from '../../../src/storage/maintenance/transfer-postgres.ts'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { member } from '../../support/app/actors.ts'
import { sealerOf } from '../../support/app/audit.ts'
import { createClock } from '../../support/app/clock.ts'
import { startApp } from '../../support/app/start-app.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'

const SKIP_ID = statement({ postgres: "select nextval(pg_get_serial_sequence('events', 'id'))", sqlite: 'select 1' })
const PREDATE_DATABASE = statement('update schema_migrations set applied_at = 0')

test('a trail whose first ids PostgreSQL has skipped is in order after migrate-data to SQLite', async (t) => {
  const service = await startApp(t, { database: 'postgres', clock: createClock(Date.now() - 60_000) })
  const { db, config } = service
  assert.ok(config.database.kind === 'postgres')
  const { url } = config.database
  const problemIn = async (database: Database) =>
    (await verifyTrail(readsOf(database), createAuditSeals(secretsOf(config)))).problem?.reason
  // As failed changes do.
  for (let n = 0; n < 3; n++) await db.first(SKIP_ID)
  await member(service)
  await sealerOf(service).run()
  assert.equal(await problemIn(db), undefined)

  const target = { kind: 'sqlite', file: join(temporaryFolder(t), 'moved.db') } as const
  await migrate(target)
  await withinPostgres(url, 'source', (from) => withinSqlite(target.file, 'target', (to) => transfer(from, to, () => undefined)))
  const moved = await openDatabase(target)
  t.after(() => moved.close())
  assert.equal(await problemIn(moved), undefined)
  // SQLite itself skips no ids: where the events were written to this database, events before them were removed.
  await moved.run(PREDATE_DATABASE)
  assert.equal(await problemIn(moved), 'the events with ids up to 3 were removed, and with them the chain')
})
