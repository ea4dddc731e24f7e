import { placeText } from '../../domain/audit/chain.ts'
import type { AuditVerification } from '../../model/audit.ts'
import { counted } from '../../shared/counted.ts'

export function problemText({ problem, sealed }: AuditVerification): string {
  const { eventId, position, reason = '' } = problem ?? {}
  const event = eventId === undefined ? undefined : `event ${eventId}`
  const place = position === undefined ? undefined : `position ${position}`
  const where = [event, place].filter((part) => part !== undefined).join(', ')
  return `the audit trail was tampered with at ${where}: ${reason}; ${counted(sealed, 'event')} before it ${sealed === 1 ? 'is' : 'are'} in order`
}

export function verificationLines({ sealed, unsealed, pruned, erased, late, head, containsExpected }: AuditVerification): string[] {
  return [
    `The audit trail is in order: ${counted(sealed, 'sealed event')}, ${unsealed} waiting to be sealed.`,
    ...(pruned > 0 ? [`Removed after their retention: ${counted(pruned, 'event')}.`] : []),
    ...(erased > 0 ? [`With erased address and details: ${counted(erased, 'event')}.`] : []),
    ...(late > 0 ? [`Sealed more than an hour after they happened: ${counted(late, 'event')}.`] : []),
    ...(containsExpected ? ['The chain contains the expected end.'] : []),
    `The chain ends at ${placeText(head)}`,
  ]
}

export function verificationJson({ problem, sealed, unsealed, pruned, erased, late, head, containsExpected }: AuditVerification): object {
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
    ...(containsExpected && { contains_expected: true }),
  }
}
