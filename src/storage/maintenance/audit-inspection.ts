import type { AuditMark } from '../../model/audit.ts'
import { OLDEST_UNSEALED } from '../repositories/audit/unsealed-event.repository.ts'

export type AuditInspection = {
  /** The end of the chain of the audit trail; undefined if nothing is sealed yet. */
  readonly auditHead: AuditMark | undefined
  /** The time of the first event that waits to be sealed. */
  readonly oldestUnsealedAt: number | undefined
}

type AuditRow = { readonly oldestUnsealedAt: number | null } & { readonly [Column in keyof AuditMark]: AuditMark[Column] | null }

export const READ_AUDIT = { sqlite: readAudit(OLDEST_UNSEALED.sqlite), postgres: readAudit(OLDEST_UNSEALED.postgres) }

function readAudit(oldestUnsealed: string): string {
  return `select (${oldestUnsealed}) as "oldestUnsealedAt",
    head.position, head.hash, head.marked_at as "markedAt", head.mac, head.mac_key as "macKey"
  from (select 1 as one) as always left join audit_marks as head on head.name = 'head'`
}

export function auditOf(row: unknown): AuditInspection {
  // READ_AUDIT names these columns. Those of the end are null together, and there is no row before the migration.
  const { oldestUnsealedAt, ...head } = (row ?? { oldestUnsealedAt: null, position: null }) as AuditRow
  return { auditHead: head.position === null ? undefined : (head as AuditMark), oldestUnsealedAt: oldestUnsealedAt ?? undefined }
}
