import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditProblem, AuditVerification, VerifyOptions, WrittenEvent } from '../../model/audit.ts'
import { type AuditSeals, digestOf, erasableDigest } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import {
  type ChainLink,
  findEventIds,
  findMark,
  findStrayLink,
  findWindowEnd,
  listUnsealed,
} from '../../storage/repositories/audit/event-seal.repository.ts'
import { CHAIN_START, findLostChain, unsealedProblem } from './chain.ts'
import { createChainWalk, ProblemFound } from './chain-walk.ts'

const WINDOW_SIZE = 5000
const LATE_MS = 60 * 60_000

/** Checks the whole trail: the chain, the events that are not sealed yet, and that there was nothing before the first one. */
export async function verifyTrail(reads: Reads, seals: AuditSeals, options: VerifyOptions = {}): Promise<AuditVerification> {
  const tally = createTally()
  const walk = createChainWalk({ reads, seals, options, onLink: tally.addSealed, onPruned: tally.forgetErasures })
  const counts = () => ({ ...walk.counts(), ...tally.counts() })
  try {
    await walk.toEnd()
    await checkLinks(reads)
    await checkUnsealed(reads, seals, tally, options.signal)
    if (walk.counts().head.position === 0) await checkLostChain(reads, seals)
    // What explains an erasure may have been sealed after the first walk, and before the unsealed events were read.
    if (tally.unexplainedErasure() !== undefined) await walk.toEnd()
    const removedBeginning = tally.wasResealed() ? undefined : await findRemovedBeginning(reads)
    // Then nothing of the chain is in order.
    if (removedBeginning !== undefined) return { ...counts(), problem: removedBeginning, sealed: 0, head: CHAIN_START }
    return { ...counts(), problem: tally.unexplainedErasure() }
  } catch (error) {
    if (error instanceof ProblemFound) return { ...counts(), problem: error.problem }
    throw error
  }
}

/** An event with a link does not count as unsealed. So every link must be one that the walk has passed. */
async function checkLinks(reads: Reads): Promise<void> {
  const stray = await findStrayLink(reads)
  if (stray !== undefined) throw new ProblemFound({ ...stray, reason: 'the link was added outside of the chain' })
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
      const problem = unsealedProblem(seals, event, digestOf(event))
      if (problem !== undefined) throw new ProblemFound(problem)
      tally.addUnsealed(event)
    }
  }
}

async function checkLostChain(reads: Reads, seals: AuditSeals): Promise<void> {
  const problem = await findLostChain(reads, seals)
  // It may have begun since the walk.
  if (problem !== undefined && (await findMark(reads, 'head')) === undefined) throw new ProblemFound(problem)
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
        // The event of an erasure must not explain its own.
        if (event.kind === 'data.erased' && !wasErasedWhenSealed(link))
          throw new ProblemFound(problemOf(link, 'the address and the details were erased, which no command does to this event'))
        if (!wasErasedWhenSealed(link)) unexplained.push(link)
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

/** An operator has accepted the event in this state and begun the chain anew. */
function wasErasedWhenSealed({ seal, event }: ChainLink): boolean {
  return event !== undefined && seal.digest === erasableDigest('', event)
}

function problemOf({ seal: { eventId, position } }: ChainLink, reason: string): AuditProblem {
  return { eventId, position, reason }
}
