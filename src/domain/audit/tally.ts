import type { AuditProblem, AuditVerification, WrittenEvent } from '../../model/audit.ts'
import { erasableDigest } from '../../security/audit-seals.ts'
import type { ChainLink } from '../../storage/repositories/audit/event-seal.repository.ts'
import { ProblemFound } from './checked-chain.ts'
import { createErasures } from './erasures.ts'

/** Counts the events that a verification passes. Events that operators left behind explain what it finds. */
export type Tally = {
  addSealed(link: ChainLink): void
  addUnsealed(event: WrittenEvent): void
  /** The erased events so far were removed after their retention. */
  forgetErasures(): void
  unexplainedErasure(): AuditProblem | undefined
  /** Whether an operator has begun the chain anew. */
  wasResealed(): boolean
  counts(): Pick<AuditVerification, 'unsealed' | 'erased' | 'late'>
}

const LATE_MS = 60 * 60_000

export function createTally(): Tally {
  const erasures = createErasures()
  let unsealed = 0
  let erased = 0
  let late = 0
  let wasResealed = false

  function noteExplanation({ kind, target }: WrittenEvent): void {
    if (kind === 'data.erased') erasures.explain(target)
    if (kind === 'audit.resealed') wasResealed = true
  }

  return {
    addSealed(link) {
      const { seal, event } = link
      if (event === undefined) return
      if (event.salt === null) {
        erased++
        if (event.kind === 'data.erased' && !wasErasedWhenSealed(link)) throw erasedErasure(link)
        if (!wasErasedWhenSealed(link)) erasures.add(link)
      }
      if (seal.sealedAt - event.at > LATE_MS) late++
      noteExplanation(event)
    },
    addUnsealed(event) {
      unsealed++
      noteExplanation(event)
    },
    forgetErasures: erasures.clear,
    unexplainedErasure: erasures.firstProblem,
    wasResealed: () => wasResealed,
    counts: () => ({ unsealed, erased, late }),
  }
}

/** An operator has accepted the event in this state and begun the chain anew. */
function wasErasedWhenSealed({ seal, event }: ChainLink): boolean {
  return event !== undefined && seal.digest === erasableDigest('', event)
}

/** The event of an erasure must not explain its own. */
function erasedErasure({ seal: { eventId, position } }: ChainLink): ProblemFound {
  return new ProblemFound({ eventId, position, reason: 'the address and the details were erased, which no command does to this event' })
}
