import type { ChainPlace, EventSeal } from '../../model/audit.ts'
import { type AuditSeals, createAuditSeals, digestOf } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import { reportingOnce } from '../../shared/errors.ts'
import { type Database, readsOf, type Transaction } from '../../storage/database.ts'
import {
  addSeals,
  findMark,
  findOldestUnsealed,
  findStrayLink,
  findUnsealed,
  type MarkName,
  setMark,
} from '../../storage/repositories/audit/event-seal.repository.ts'
import { appendLink, BrokenChain, CHAIN_START, createMark, markProblem, readMark, requireNewTrail, unsealedProblem } from './chain.ts'

export type Sealer = ReturnType<typeof createSealer>

type SealerParts = {
  readonly db: Database
  readonly secrets: Secrets
  readonly now: () => number
  readonly onFailure: (error: unknown) => void
  /** Called now and then, and at the stop, with the end of the chain, so that a copy of it exists outside of the database. */
  readonly onHead?: (head: ChainPlace) => void
}

/** The end of the chain, and the id to continue after, unless nothing is left. */
type SealedBatch = { readonly end: ChainPlace; readonly nextId: number | undefined }

const INTERVAL_MS = 1000
const BATCH_SIZE = 500
// A commit that took very long leaves an event far below the highest sealed id.
const THOROUGH_INTERVAL_MS = 60_000
const HEAD_INTERVAL_MS = 60 * 60_000

/**
 * Links new events into the hash chain, every second. A lock in the database lets one process at a time do it; a process that dies loses
 * the lock with its transaction. Positions are assigned here, so that events may commit in any order.
 */
export function createSealer({ db, secrets, now, onFailure, onHead = () => undefined }: SealerParts) {
  const seals = createAuditSeals(secrets)
  const reads = readsOf(db)
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> | undefined
  let highest = CHAIN_START
  let headAt = 0
  let reported = 0
  let thoroughAt = 0

  /** Seals every event that is committed by now. */
  async function run(): Promise<void> {
    const isThorough = now() - thoroughAt >= THOROUGH_INTERVAL_MS
    for (let afterId = 0; isThorough || (await findOldestUnsealed(reads)) !== undefined; ) {
      const { end, nextId } = await db.transaction((tx) => sealBatch(tx, { afterId, isThorough }))
      // After the commit: a batch that was rolled back is not the end of the chain.
      highest = end
      if (nextId === undefined) break
      afterId = nextId
    }
    if (isThorough) thoroughAt = now()
    if (highest.position === 0 || now() - headAt < HEAD_INTERVAL_MS) return
    reportHead()
  }

  function reportHead(): void {
    headAt = now()
    reported = highest.position
    onHead(highest)
  }

  async function sealBatch(
    tx: Transaction,
    { afterId, isThorough }: { readonly afterId: number; readonly isThorough: boolean },
  ): Promise<SealedBatch> {
    await tx.lock('audit-chain')
    const end = await readEnd(tx, seals, highest)
    if (end.position === 0) await requireNewTrail(tx, seals)
    const events = await findUnsealed(tx, { afterId, limit: BATCH_SIZE, isThorough })
    const links: EventSeal[] = []
    for (const event of events) {
      const digest = digestOf(event)
      // An event that is not genuine stays unsealed, and is reported by a verification.
      if (unsealedProblem(seals, event, digest) === undefined) links.push(appendLink(seals, links.at(-1) ?? end, event, digest, now()))
    }
    const nextId = events.length < BATCH_SIZE ? undefined : events.at(-1)?.id
    const last = links.at(-1)
    if (last === undefined) return { end, nextId }
    await addSeals(tx, links)
    await setMark(tx, 'head', createMark(seals, 'head', last, now()))
    return { end: last, nextId }
  }

  const runSafely = reportingOnce(run, onFailure)

  /** Does one thing at a time. */
  function begin(work: () => Promise<unknown>): void {
    running ??= work().finally(() => {
      running = undefined
    })
  }

  return {
    run,
    start(): void {
      timer = setInterval(() => begin(runSafely), INTERVAL_MS).unref()
      begin(() => renewMarks(db, seals, now).catch(onFailure))
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      await running
      await runSafely()
      // If the end is cut off while no process runs, only a comparison with this log line shows it.
      if (highest.position > reported) reportHead()
    },
  }
}

/** The end of the chain, checked, so that nothing is ever linked to an end that somebody else has made. */
async function readEnd(tx: Transaction, seals: AuditSeals, highest: ChainPlace): Promise<ChainPlace> {
  const head = await readMark(tx, seals, 'head')
  const stray = await findStrayLink(tx)
  if (head === undefined) {
    if (stray === undefined && highest.position === 0) return CHAIN_START
    throw new BrokenChain({ reason: 'the record of the end of the chain was removed' })
  }
  if (head.position < highest.position) throw new BrokenChain({ reason: 'the end of the chain was removed while the service was running' })
  // Its event would not be sealed, although it is not in the chain.
  if (stray !== undefined) throw new BrokenChain({ reason: `the link at position ${stray.position} was added outside of the chain` })
  return head
}

/** Vouches for both ends of the chain with the current secret, as long as the former one is known. */
async function renewMarks(db: Database, seals: AuditSeals, now: () => number): Promise<void> {
  const isOld = async (name: MarkName) => ((await findMark(readsOf(db), name))?.macKey ?? seals.currentKey) !== seals.currentKey
  if (!(await isOld('head')) && !(await isOld('anchor'))) return
  await db.transaction(async (tx) => {
    await tx.lock('audit-chain')
    for (const name of ['anchor', 'head'] as const) {
      const mark = await findMark(tx, name)
      if (mark !== undefined && mark.macKey !== seals.currentKey && markProblem(seals, name, mark) === undefined)
        await setMark(tx, name, createMark(seals, name, mark, now()))
    }
  })
}
