import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditProblem, AuditVerification, VerifyOptions } from '../../model/audit.ts'
import { type AuditSeals, digestOf } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import {
  findEventIds,
  findMark,
  findStrayLink,
  findWindowEnd,
  listUnsealed,
} from '../../storage/repositories/audit/event-seal.repository.ts'
import { CHAIN_START, unsealedProblem } from './chain.ts'
import { createChainWalk } from './chain-walk.ts'
import { ProblemFound } from './checked-chain.ts'
import { findLostChain } from './lost-chain.ts'
import { createTally, type Tally } from './tally.ts'

const WINDOW_SIZE = 5000

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
