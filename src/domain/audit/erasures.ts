import type { AuditProblem } from '../../model/audit.ts'
import type { ChainLink } from '../../storage/repositories/audit/event-seal.repository.ts'

/** The erased events of a walk along the chain that nothing explains yet. */
export function createErasures() {
  let unexplained: ChainLink[] = []
  return {
    add: (link: ChainLink) => void unexplained.push(link),
    /** An operator who erases leaves an event behind, which comes later in the chain. */
    explain(userId: number | null): void {
      unexplained = unexplained.filter(({ event }) => event?.target !== userId && event?.actor !== userId)
    },
    clear(): void {
      unexplained = []
    },
    firstProblem(): AuditProblem | undefined {
      const [first] = unexplained
      if (first === undefined) return undefined
      const { eventId, position } = first.seal
      return { eventId, position, reason: 'the address and the details were erased without an event that says so' }
    },
  }
}
