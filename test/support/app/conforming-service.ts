import type { TestContext } from 'node:test'
import { statement } from '../../../src/storage/database.ts'
import { TABLE_NAMES } from '../../../src/storage/maintenance/transfer.ts'
import type { TableName } from '../../../src/storage/tables.ts'
import { startListening } from '../client/listening.ts'
import type { DatabaseKind } from '../databases/databases.ts'
import { admin, keyHolder } from './actors.ts'

export type ConformingService = Awaited<ReturnType<typeof startConforming>>

const KEPT_TABLES: readonly TableName[] = ['events', 'event_seals', 'audit_marks', 'mail_history']
const COUNTS = TABLE_NAMES.filter((name) => !KEPT_TABLES.includes(name)).map(
  (name) => [name, statement<{ count: number }>(`select count(*) as count from ${name}`)] as const,
)

/** Latchkey with an admin, as the conformance checks need it: it listens, sends mails at once, and publishes metrics. */
export async function startConforming(t: TestContext & { database?: DatabaseKind }) {
  const service = await startListening(t, {
    ...(t.database && { database: t.database }),
    sendsMails: true,
    env: { METRICS_ENABLED: 'true' },
  })
  const { key: adminKey } = await keyHolder(service, await admin(service))
  return {
    ...service,
    adminKey,
    /** The arguments of the command for this service. */
    args: ['conformance', service.url, '--admin-key', adminKey],
    /** The number of rows of each table, except those that are kept for a while: the audit trail and the history of mail. */
    async countRows(): Promise<Readonly<Partial<Record<TableName, number>>>> {
      const rows = await Promise.all(COUNTS.map(async ([name, count]) => [name, Number((await service.db.first(count))?.count)] as const))
      return Object.fromEntries(rows)
    },
  }
}
