import type { AuditMark, AuditProblem, ChainPlace } from '../../model/audit.ts'
import type { AuditSeals } from '../../security/audit-seals.ts'
import type { ChainLink } from '../../storage/repositories/audit/event-seal.repository.ts'
import { CHAIN_START, followLink, NOT_OURS } from './chain.ts'

/** Ends a verification at the first problem. */
export class ProblemFound extends Error {
  readonly problem: AuditProblem

  constructor(problem: AuditProblem) {
    super(problem.reason)
    this.problem = problem
  }
}

export function problemAt(position: number, reason: string): ProblemFound {
  return new ProblemFound({ eventId: undefined, position, reason })
}

/** The part of the chain that was checked so far. Its functions throw ProblemFound. */
export type CheckedChain = {
  /** The last link that was checked. */
  place(): ChainPlace
  /** Whether the expected end is in this part. */
  containsExpected(): true | undefined
  /** Continues at a place that a mark vouches for. */
  moveTo(next: ChainPlace): void
  /** Checks the next link. */
  follow(link: ChainLink): void
  /** Compares the last link with the record of the end, which is undefined for an empty chain. */
  requireEnd(head: AuditMark | undefined): void
}

export function createCheckedChain(seals: AuditSeals, expected: ChainPlace | undefined): CheckedChain {
  let place = CHAIN_START
  let containsExpected: true | undefined
  // Links of a former secret say nothing by themselves: the next link of a known one vouches for them.
  let unknownSince: ChainLink['seal'] | undefined

  function moveTo(next: ChainPlace): void {
    if (next.position === expected?.position) {
      if (next.hash !== expected.hash) throw problemAt(next.position, 'the chain is not the one whose end is expected here')
      containsExpected = true
    }
    place = next
  }

  function follow(link: ChainLink): void {
    const { seal } = link
    if (seal.position !== place.position + 1) throw problemAt(place.position + 1, 'the event at this position was removed with its link')
    const next = followLink(seals, place, link)
    if ('problem' in next) {
      const { eventId, position } = seal
      throw next.isRebuilt ? rebuiltBefore(seal, next.problem) : new ProblemFound({ eventId, position, reason: next.problem })
    }
    moveTo(next)
    unknownSince = next.isKeyKnown ? undefined : (unknownSince ?? seal)
  }

  /** The problem of a link whose predecessors are to blame if nobody vouches for them. */
  function rebuiltBefore(seal: ChainLink['seal'], reason: string): ProblemFound {
    const { eventId, position } = unknownSince ?? seal
    return new ProblemFound({ eventId, position, reason: unknownSince ? NOT_OURS : reason })
  }

  function requireEnd(head: AuditMark | undefined): void {
    if (head === undefined && place.position === 0) return
    if (head === undefined) throw problemAt(place.position, 'the record of the end of the chain was removed')
    const missing = head.position - place.position
    if (missing > 0) throw problemAt(place.position + 1, `the last ${missing} events were removed`)
    if (missing < 0) throw problemAt(head.position + 1, 'links were added after the end of the chain')
    if (head.hash === place.hash) return
    // The record has a valid HMAC: it is the chain that ends otherwise.
    throw unknownSince ? rebuiltBefore(unknownSince, NOT_OURS) : problemAt(head.position, 'the record of the end of the chain was changed')
  }

  return { place: () => place, containsExpected: () => containsExpected, moveTo, follow, requireEnd }
}
