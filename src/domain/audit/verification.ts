import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditProblem, AuditVerification, ChainPlace, VerifyOptions, WrittenEvent } from '../../model/audit.ts'
import type { AuditSeals } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import {
  type ChainLink,
  findEventIds,
  findMark,
  listLinks,
  listUnsealed,
} from '../../storage/repositories/operations/event-seal.repository.ts'
import { CHAIN_START, followLink, markProblem, NOT_OURS, unsealedProblem } from './chain.ts'
import { createErasures } from './erasures.ts'

const PAGE_SIZE = 500
const ID_WINDOW = 5000
const LATE_MS = 60 * 60_000

class Found extends Error {
  readonly problem: AuditProblem

  constructor(problem: AuditProblem) {
    super(problem.reason)
    this.problem = problem
  }
}

/** Walks along the whole chain, in pages, while events are written, sealed and removed. */
export async function verifyTrail(reads: Reads, seals: AuditSeals, options: VerifyOptions = {}): Promise<AuditVerification> {
  const walk = createWalk(reads, seals, options)
  try {
    await walk.chain()
    await walk.unsealed()
    // What explains an erasure may have been sealed after the first walk, and before the unsealed events were read.
    if (walk.unexplainedErasure() !== undefined) await walk.chain()
    await walk.beginning()
    return { problem: walk.unexplainedErasure(), ...walk.counts() }
  } catch (error) {
    if (error instanceof Found) return { problem: error.problem, ...walk.counts() }
    throw error
  }
}

function createWalk(reads: Reads, seals: AuditSeals, { onProgress = () => undefined, signal, expected }: VerifyOptions) {
  let place = CHAIN_START
  let firstPosition = 0
  let unsealedCount = 0
  let erased = 0
  let late = 0
  let wasResealed = false
  let containsExpected: true | undefined
  // Links of a former secret say nothing by themselves: the next link of a known one vouches for them.
  let unknownSince: ChainLink['seal'] | undefined
  const erasures = createErasures()

  async function begin(): Promise<void> {
    const anchor = await findMark(reads, 'anchor')
    if (anchor === undefined) return
    const problem = markProblem(seals, 'anchor', anchor)
    if (problem !== undefined) throw new Found(problem)
    if (anchor.position <= place.position) return
    // Since the last page, the events up to here were removed after their retention.
    firstPosition = anchor.position
    erasures.clear()
    moveTo(anchor)
  }

  function moveTo(next: ChainPlace): void {
    if (next.position === expected?.position) {
      if (next.hash !== expected.hash) throw problemAt(next.position, 'the chain is not the one whose end is expected here')
      containsExpected = true
    }
    place = next
  }

  function follow(link: ChainLink): void {
    const { seal, event } = link
    if (seal.position !== place.position + 1) throw problemAt(place.position + 1, 'the event at this position was removed with its link')
    const next = followLink(seals, place, link)
    if ('problem' in next) {
      if (next.isRebuilt) throw rebuiltSince(seal, next.problem)
      throw new Found({ eventId: seal.eventId, position: seal.position, reason: next.problem })
    }
    moveTo(next)
    unknownSince = next.isKeyKnown ? undefined : (unknownSince ?? seal)
    if (event !== undefined) count(link, event)
  }

  function rebuiltSince(seal: ChainLink['seal'], reason: string): Found {
    const { eventId, position } = unknownSince ?? seal
    return new Found({ eventId, position, reason: unknownSince ? NOT_OURS : reason })
  }

  function count(link: ChainLink, event: WrittenEvent): void {
    if (event.salt === null) {
      erased++
      erasures.add(link)
    }
    if (link.seal.sealedAt - event.at > LATE_MS) late++
    heed(event)
  }

  /** What an operator does to the trail leaves an event behind, which explains what is found. */
  function heed({ kind, target }: WrittenEvent): void {
    if (kind === 'data.erased') erasures.explain(target)
    if (kind === 'audit.resealed') wasResealed = true
  }

  /** Reads the page after the current place. The beginning may have moved past it in the meantime. */
  async function readPage(): Promise<ChainLink[]> {
    signal?.throwIfAborted()
    await nextTurn()
    const links = await listLinks(reads, place.position, PAGE_SIZE)
    if (links[0]?.seal.position === place.position + 1) return links
    const { position } = place
    await begin()
    return place.position === position ? links : listLinks(reads, place.position, PAGE_SIZE)
  }

  /** Compares the last link with the record of the end. Returns false if links were added since the last page. */
  async function isAtEnd(): Promise<boolean> {
    const head = await findMark(reads, 'head')
    if (head === undefined) return requireEmpty()
    const problem = markProblem(seals, 'head', head)
    if (problem !== undefined) throw new Found(problem)
    const missing = head.position - place.position
    if (missing > 0 && (await listLinks(reads, place.position, 1)).length > 0) return false
    if (missing > 0) throw problemAt(place.position + 1, `the last ${missing} events were removed`)
    if (missing < 0) throw problemAt(head.position + 1, 'links were added after the end of the chain')
    if (head.hash === place.hash) return true
    // The record has a valid HMAC: it is the chain that ends otherwise.
    throw unknownSince ? rebuiltSince(unknownSince, NOT_OURS) : problemAt(head.position, 'the record of the end of the chain was changed')
  }

  function requireEmpty(): true {
    if (place.position === 0) return true
    throw problemAt(place.position, 'the record of the end of the chain was removed')
  }

  return {
    async chain(): Promise<void> {
      await begin()
      const total = (await findMark(reads, 'head'))?.position ?? 0
      for (;;) {
        const links = await readPage()
        for (const link of links) follow(link)
        onProgress(place.position - firstPosition, Math.max(total, place.position) - firstPosition)
        if (links.length === 0 && (await isAtEnd())) break
      }
      if (expected !== undefined && place.position < expected.position)
        throw problemAt(place.position + 1, `the chain ends before the expected end at position ${expected.position}`)
    },
    async unsealed(): Promise<void> {
      const { first = 0, last = 0 } = await findEventIds(reads)
      for (let afterId = first - 1; afterId < last; afterId += ID_WINDOW) {
        signal?.throwIfAborted()
        await nextTurn()
        for (const event of await listUnsealed(reads, afterId, afterId + ID_WINDOW)) {
          const problem = unsealedProblem(seals, event)
          if (problem !== undefined) throw new Found(problem)
          unsealedCount++
          heed(event)
        }
      }
    },
    /** Ids show that there were events before the first one. An attacker who knows that can reset them too: see SECURITY.md. */
    async beginning(): Promise<void> {
      const { first, lastUsed, maxUnused } = await findEventIds(reads)
      const missing = first === undefined ? lastUsed : first - 1
      if (missing <= maxUnused || wasResealed || (await findMark(reads, 'anchor')) !== undefined) return
      // Nothing before it is in order.
      place = CHAIN_START
      throw problemAt(1, `the events with ids up to ${missing} were removed, and with them the chain`)
    },
    unexplainedErasure: erasures.firstProblem,
    counts: () => ({
      sealed: place.position - firstPosition,
      unsealed: unsealedCount,
      pruned: firstPosition,
      erased,
      late,
      head: { position: place.position, hash: place.hash },
      containsExpected,
    }),
  }
}

function problemAt(position: number, reason: string): Found {
  return new Found({ eventId: undefined, position, reason })
}
