import type { Origin } from '../../model/caller.ts'
import { createAuditSeals, digestOf, eventContent } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import { listWrittenEvents, signEvent } from '../../storage/repositories/audit/event.repository.ts'
import { deleteMarks, deleteSomeSeals } from '../../storage/repositories/audit/event-seal.repository.ts'
import { type ChangeTransaction, type DomainParts, pagesOf } from '../changes/changes.ts'

const BATCH_SIZE = 500

/**
 * Accepts the events as they are and removes the chain, so that the service seals all of them again with the current secret: after
 * SECRET_KEY was lost, or after tampering was examined. The chain goes last, and its ends at the very end: until then no process seals,
 * and an interrupted call can be repeated. Returns how many events were accepted.
 */
export async function acceptTrail(
  { reads, changes, secrets }: Pick<DomainParts, 'reads' | 'changes'> & { readonly secrets: Secrets },
  origin: Origin,
  onProgress: (done: number) => void = () => undefined,
): Promise<number> {
  const seals = createAuditSeals(secrets)
  let count = 0
  for await (const events of pagesOf(BATCH_SIZE, (afterId) => listWrittenEvents(reads, afterId, BATCH_SIZE))) {
    await changes.withoutCaller(origin, async (tx) => {
      for (const event of events) {
        await signEvent(tx, event.id, seals.seal('event', eventContent(event, digestOf(event))))
      }
    })
    count += events.length
    onProgress(count)
  }
  while (!(await changes.withoutCaller(origin, (tx) => removeChain(tx, count))));
  return count
}

/** Removes a part of the chain. Returns whether that was the last one. */
async function removeChain(tx: ChangeTransaction, count: number): Promise<boolean> {
  // A service that seals at the same time would otherwise continue the chain between the last link and its end.
  await tx.lock('audit-chain')
  if ((await deleteSomeSeals(tx, BATCH_SIZE)) === BATCH_SIZE) return false
  await deleteMarks(tx)
  tx.record({ kind: 'audit.resealed', count })
  return true
}
