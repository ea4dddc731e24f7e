import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditMark, AuditVerification, VerifyOptions } from '../../model/audit.ts'
import type { AuditSeals } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import { type ChainLink, findMark, listLinks, type MarkName } from '../../storage/repositories/audit/event-seal.repository.ts'
import { markProblem } from './chain.ts'
import { createCheckedChain, ProblemFound, problemAt } from './checked-chain.ts'

/** A walk along the chain, in pages, while events are written, sealed and removed. */
export type ChainWalk = {
  /** Checks the chain to its end. Called again, it continues with the links that were added since. */
  toEnd(): Promise<void>
  counts(): Pick<AuditVerification, 'sealed' | 'pruned' | 'head' | 'containsExpected'>
}

export type WalkParts = {
  readonly reads: Reads
  readonly seals: AuditSeals
  readonly options: VerifyOptions
  readonly onLink: (link: ChainLink) => void
  /** Called when the events up to the current place were removed after their retention. */
  readonly onPruned: () => void
}

const PAGE_SIZE = 500

export function createChainWalk({ reads, seals, options, onLink, onPruned }: WalkParts): ChainWalk {
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
    async toEnd() {
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
    counts() {
      const { position, hash } = chain.place()
      const containsExpected = chain.containsExpected()
      return { sealed: position - firstPosition, pruned: firstPosition, head: { position, hash }, containsExpected }
    },
  }
}
