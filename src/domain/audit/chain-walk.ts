import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditMark, AuditProblem, AuditVerification, ChainPlace, VerifyOptions } from '../../model/audit.ts'
import type { AuditSeals } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import { type ChainLink, findMark, listLinks, type MarkName } from '../../storage/repositories/audit/event-seal.repository.ts'
import { CHAIN_START, followLink, markProblem, NOT_OURS } from './chain.ts'

type WalkParts = {
  readonly reads: Reads
  readonly seals: AuditSeals
  readonly options: VerifyOptions
  readonly onLink: (link: ChainLink) => void
  /** Called when the events up to the current place were removed after their retention. */
  readonly onPruned: () => void
}

const PAGE_SIZE = 500

/** A walk along the chain, in pages, while events are written, sealed and removed. */
export function createChainWalk({ reads, seals, options, onLink, onPruned }: WalkParts) {
  const { onProgress, signal, expected } = options
  const chain = createCheckedChain(seals, expected)
  let firstPosition = 0

  async function readMark(name: MarkName): Promise<AuditMark | undefined> {
    const mark = await findMark(reads, name)
    const problem = mark && markProblem(seals, name, mark)
    if (problem !== undefined) throw new ProblemFound(problem)
    return mark
  }

  /** Moves to the beginning of the chain, which retention may have moved since the last page. Returns false if it has not. */
  async function skipPruned(): Promise<boolean> {
    const anchor = await readMark('anchor')
    if (anchor === undefined || anchor.position <= chain.place().position) return false
    firstPosition = anchor.position
    onPruned()
    chain.moveTo(anchor)
    return true
  }

  async function readPage(): Promise<ChainLink[]> {
    signal?.throwIfAborted()
    await nextTurn()
    const { position } = chain.place()
    const links = await listLinks(reads, position, PAGE_SIZE)
    if (links[0]?.seal.position === position + 1) return links
    return (await skipPruned()) ? listLinks(reads, chain.place().position, PAGE_SIZE) : links
  }

  /** Compares the last link with the record of the end. Returns false if links were added since the last page. */
  async function isAtEnd(): Promise<boolean> {
    const head = await readMark('head')
    const { position } = chain.place()
    if (head !== undefined && head.position > position && (await listLinks(reads, position, 1)).length > 0) return false
    chain.requireEnd(head)
    return true
  }

  return {
    /** Checks the chain to its end. Called again, it continues with the links that were added since. */
    async toEnd(): Promise<void> {
      await skipPruned()
      const total = (await findMark(reads, 'head'))?.position ?? 0
      for (;;) {
        const links = await readPage()
        for (const link of links) {
          chain.follow(link)
          onLink(link)
        }
        const { position } = chain.place()
        onProgress?.(position - firstPosition, Math.max(total, position) - firstPosition)
        if (links.length === 0 && (await isAtEnd())) break
      }
      const { position } = chain.place()
      if (expected !== undefined && position < expected.position)
        throw problemAt(position + 1, `the chain ends before the expected end at position ${expected.position}`)
    },
    counts(): Pick<AuditVerification, 'sealed' | 'pruned' | 'head' | 'containsExpected'> {
      const { position, hash } = chain.place()
      const containsExpected = chain.containsExpected()
      return { sealed: position - firstPosition, pruned: firstPosition, head: { position, hash }, containsExpected }
    },
  }
}

/** Ends a verification at the first problem. */
export class ProblemFound extends Error {
  readonly problem: AuditProblem

  constructor(problem: AuditProblem) {
    super(problem.reason)
    this.problem = problem
  }
}

function problemAt(position: number, reason: string): ProblemFound {
  return new ProblemFound({ eventId: undefined, position, reason })
}

/** The part of the chain that was checked so far. Its functions throw ProblemFound. */
function createCheckedChain(seals: AuditSeals, expected: ChainPlace | undefined) {
  /** The last link that was checked. */
  let place = CHAIN_START
  /** Whether the expected end is in this part. */
  let containsExpected: true | undefined
  // Links of a former secret say nothing by themselves: the next link of a known one vouches for them.
  let unknownSince: ChainLink['seal'] | undefined

  /** Continues at a place that a mark vouches for. */
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

  /** Compares the last link with the record of the end, which is undefined for an empty chain. */
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
