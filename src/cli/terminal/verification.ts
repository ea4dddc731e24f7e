import type { AuditVerification } from '../../domain/audit/verification.ts'
import { counted } from '../../shared/counted.ts'

export function problemText({ problem, sealed }: AuditVerification): string {
  const { eventId, position, reason = '' } = problem ?? {}
  const event = eventId === undefined ? undefined : `event ${eventId}`
  const place = position === undefined ? undefined : `position ${position}`
  const where = [event, place].filter((part) => part !== undefined).join(', ')
  return `the audit trail was tampered with at ${where}: ${reason}; ${counted(sealed, 'event')} before it are in order`
}

export function verificationLines({ sealed, unsealed, pruned, erased, late, head }: AuditVerification): string[] {
  return [
    `The audit trail is in order: ${counted(sealed, 'sealed event')}, ${unsealed} waiting to be sealed.`,
    ...(pruned > 0 ? [`Removed after their retention: ${counted(pruned, 'event')}.`] : []),
    ...(erased > 0 ? [`With erased address and details: ${counted(erased, 'event')}.`] : []),
    ...(late > 0 ? [`Sealed more than an hour after they happened: ${counted(late, 'event')}.`] : []),
    `The chain ends at ${head.position}:${head.hash}`,
  ]
}

export function verificationJson({ problem, sealed, unsealed, pruned, erased, late, head }: AuditVerification): object {
  return {
    valid: problem === undefined,
    problem:
      problem === undefined ? null : { event_id: problem.eventId ?? null, position: problem.position ?? null, reason: problem.reason },
    sealed,
    unsealed,
    pruned,
    erased,
    late,
    head: { position: head.position, hash: head.hash },
  }
}
