import type { AuditProblem, AuditVerification, WrittenEvent } from '../../model/audit.ts'
import type { ChainLink } from '../../storage/repositories/operations/event-seal.repository.ts'
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
        erasures.add(link)
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
