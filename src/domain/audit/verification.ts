import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditMark, AuditProblem, AuditVerification, ChainPlace, VerifyOptions, WrittenEvent } from '../../model/audit.ts'
import { type AuditSeals, digestOf, erasableDigest } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import {
  type ChainLink,
  findEventIds,
  findMark,
  findStrayLink,
  findWindowEnd,
  listLinks,
  listUnsealed,
} from '../../storage/repositories/audit/event-seal.repository.ts'
import { BrokenChain, CHAIN_START, followLink, NOT_OURS, readMark, requireNewTrail, unsealedProblem } from './chain.ts'

const PAGE_SIZE = 500
const WINDOW_SIZE = 5000
const LATE_MS = 60 * 60_000

/** Checks the whole trail: the chain, the events that are not sealed yet, and that there was nothing before the first one. */
export async function verifyTrail(reads: Reads, seals: AuditSeals, options: VerifyOptions = {}): Promise<AuditVerification> {
  const tally = createTally()
  const walk = createChainWalk(reads, seals, tally, options)
  const counts = () => ({ ...walk.counts(), ...tally.counts() })
  try {
    await walk.toEnd()
    // An event with a link does not count as unsealed. So every link must be one that the walk has passed.
    const stray = await findStrayLink(reads)
    if (stray !== undefined) throw new BrokenChain({ ...stray, reason: 'the link was added outside of the chain' })
    await checkUnsealed(reads, seals, tally, options.signal)
    if (walk.counts().head.position === 0) await requireNewTrail(reads, seals)
    // What explains an erasure may have been sealed after the first walk, and before the unsealed events were read.
    if (tally.unexplainedErasure() !== undefined) await walk.toEnd()
    const removedBeginning = tally.wasResealed() ? undefined : await findRemovedBeginning(reads)
    // Then nothing of the chain is in order.
    if (removedBeginning !== undefined) return { ...counts(), problem: removedBeginning, sealed: 0, head: CHAIN_START }
    return { ...counts(), problem: tally.unexplainedErasure() }
  } catch (error) {
    if (error instanceof BrokenChain) return { ...counts(), problem: error.problem }
    throw error
  }
}

/** A walk along the chain, in pages, while events are written, sealed and removed. */
function createChainWalk(reads: Reads, seals: AuditSeals, tally: Tally, { onProgress, signal, expected }: VerifyOptions) {
  const chain = createCheckedChain(seals, expected)
  let firstPosition = 0

  /** Moves to the beginning of the chain, which retention may have moved since the last page. Returns false if it has not. */
  async function skipPruned(): Promise<boolean> {
    const anchor = await readMark(reads, seals, 'anchor')
    if (anchor === undefined || anchor.position <= chain.place().position) return false
    firstPosition = anchor.position
    tally.forgetErasures()
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
    const head = await readMark(reads, seals, 'head')
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
          tally.addSealed(link)
        }
        const { position } = chain.place()
        onProgress?.(position - firstPosition, Math.max(total, position) - firstPosition)
        if (links.length === 0 && (await isAtEnd())) break
      }
      const { position } = chain.place()
      if (expected !== undefined && position < expected.position)
        throw brokenAt(position + 1, `the chain ends before the expected end at position ${expected.position}`)
    },
    counts(): Pick<AuditVerification, 'sealed' | 'pruned' | 'head' | 'containsExpected'> {
      const { position, hash } = chain.place()
      const containsExpected = chain.containsExpected()
      return { sealed: position - firstPosition, pruned: firstPosition, head: { position, hash }, containsExpected }
    },
  }
}

function brokenAt(position: number, reason: string): BrokenChain {
  return new BrokenChain({ position, reason })
}

/** The part of the chain that was checked so far. Its functions throw BrokenChain. */
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
      if (next.hash !== expected.hash) throw brokenAt(next.position, 'the chain is not the one whose end is expected here')
      containsExpected = true
    }
    place = next
  }

  function follow(link: ChainLink): void {
    const { seal } = link
    if (seal.position !== place.position + 1) throw brokenAt(place.position + 1, 'the event at this position was removed with its link')
    const next = followLink(seals, place, link)
    if ('problem' in next) {
      const { eventId, position } = seal
      throw next.isRebuilt ? rebuiltBefore(seal, next.problem) : new BrokenChain({ eventId, position, reason: next.problem })
    }
    moveTo(next)
    unknownSince = next.isKeyKnown ? undefined : (unknownSince ?? seal)
  }

  /** The problem of a link whose predecessors are to blame if nobody vouches for them. */
  function rebuiltBefore(seal: ChainLink['seal'], reason: string): BrokenChain {
    const { eventId, position } = unknownSince ?? seal
    return new BrokenChain({ eventId, position, reason: unknownSince ? NOT_OURS : reason })
  }

  /** Compares the last link with the record of the end, which is undefined for an empty chain. */
  function requireEnd(head: AuditMark | undefined): void {
    if (head === undefined && place.position === 0) return
    if (head === undefined) throw brokenAt(place.position, 'the record of the end of the chain was removed')
    const missing = head.position - place.position
    if (missing > 0) throw brokenAt(place.position + 1, `the last ${missing} events were removed`)
    if (missing < 0) throw brokenAt(head.position + 1, 'links were added after the end of the chain')
    if (head.hash === place.hash) return
    // The record has a valid HMAC: it is the chain that ends otherwise.
    throw unknownSince ? rebuiltBefore(unknownSince, NOT_OURS) : brokenAt(head.position, 'the record of the end of the chain was changed')
  }

  return { place: () => place, containsExpected: () => containsExpected, moveTo, follow, requireEnd }
}

async function checkUnsealed(reads: Reads, seals: AuditSeals, tally: Tally, signal: AbortSignal | undefined): Promise<void> {
  const { first = 0 } = await findEventIds(reads)
  let last: number | undefined
  for (let afterId = first - 1; ; afterId = last) {
    signal?.throwIfAborted()
    await nextTurn()
    last = await findWindowEnd(reads, afterId, WINDOW_SIZE)
    if (last === undefined) return
    for (const event of await listUnsealed(reads, afterId, last)) {
      const reason = unsealedProblem(seals, event, digestOf(event))
      if (reason !== undefined) throw new BrokenChain({ eventId: event.id, reason })
      tally.addUnsealed(event)
    }
  }
}

/** Ids show that there were events before the first one. An attacker who knows that can reset them too: see SECURITY.md. */
async function findRemovedBeginning(reads: Reads): Promise<AuditProblem | undefined> {
  const { first, lastUsed, maxUnused } = await findEventIds(reads)
  const missing = first === undefined ? lastUsed : first - 1
  if (missing <= maxUnused || (await findMark(reads, 'anchor')) !== undefined) return undefined
  return { eventId: undefined, position: 1, reason: `the events with ids up to ${missing} were removed, and with them the chain` }
}

type Tally = ReturnType<typeof createTally>

/** Counts the events that a verification passes. Events that operators left behind explain what it finds. */
function createTally() {
  // An operator who erases leaves an event behind, which comes later in the chain and explains the erased events before it.
  let unexplained: ChainLink[] = []
  let unsealed = 0
  let erased = 0
  let late = 0
  /** Whether an operator has begun the chain anew. */
  let wasResealed = false

  function noteExplanation({ kind, target }: WrittenEvent): void {
    if (kind === 'data.erased') unexplained = unexplained.filter(({ event }) => event?.target !== target && event?.actor !== target)
    if (kind === 'audit.resealed') wasResealed = true
  }

  return {
    addSealed(link: ChainLink): void {
      const { seal, event } = link
      if (event === undefined) return
      if (event.salt === null) {
        erased++
        // Or an operator has accepted the event in this state and begun the chain anew.
        const wasErasedLater = seal.digest !== erasableDigest('', event)
        // The event of an erasure must not explain its own.
        if (event.kind === 'data.erased' && wasErasedLater)
          throw new BrokenChain(problemOf(link, 'the address and the details were erased, which no command does to this event'))
        if (wasErasedLater) unexplained.push(link)
      }
      if (seal.sealedAt - event.at > LATE_MS) late++
      noteExplanation(event)
    },
    addUnsealed(event: WrittenEvent): void {
      unsealed++
      noteExplanation(event)
    },
    /** The erased events so far were removed after their retention. */
    forgetErasures(): void {
      unexplained = []
    },
    unexplainedErasure(): AuditProblem | undefined {
      const [first] = unexplained
      return first && problemOf(first, 'the address and the details were erased without an event that says so')
    },
    wasResealed: () => wasResealed,
    counts: () => ({ unsealed, erased, late }),
  }
}

function problemOf({ seal: { eventId, position } }: ChainLink, reason: string): AuditProblem {
  return { eventId, position, reason }
}
