import { type AuditSeals, createAuditSeals } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import type { Database, Transaction } from '../../storage/database.ts'
import { deleteSealed, listLinks, setMark } from '../../storage/repositories/audit/event-seal.repository.ts'
import { BrokenChain, CHAIN_START, createMark, followLink, readMark } from './chain.ts'

const DAY_MS = 24 * 60 * 60_000
const BATCH_SIZE = 500

/**
 * Removes sealed events whose retention is over. Each is verified before it is removed, and the beginning of the chain moves with them:
 * what is left still verifies, and a tampered event is never removed as if it were old.
 */
export async function pruneEvents(db: Database, secrets: Secrets, retentionDays: number, now: () => number): Promise<void> {
  if (retentionDays === 0) return
  const seals = createAuditSeals(secrets)
  const sealedBefore = now() - retentionDays * DAY_MS
  while ((await db.transaction((tx) => pruneBatch(tx, seals, sealedBefore, now()))) === BATCH_SIZE);
}

async function pruneBatch(tx: Transaction, seals: AuditSeals, sealedBefore: number, now: number): Promise<number> {
  await tx.lock('audit-chain')
  const start = (await readMark(tx, seals, 'anchor')) ?? CHAIN_START
  const links = await listLinks(tx, start.position, BATCH_SIZE)
  const firstKept = links.findIndex(({ seal }) => seal.sealedAt >= sealedBefore)
  const old = firstKept === -1 ? links : links.slice(0, firstKept)
  let place = start
  for (const link of old) {
    const next = followLink(seals, place, link)
    if ('problem' in next) throw new BrokenChain({ reason: `event ${link.seal.eventId} is not removed: ${next.problem}` })
    place = next
  }
  if (old.length === 0) return 0
  await setMark(tx, 'anchor', createMark(seals, 'anchor', place, now))
  await deleteSealed(tx, start.position, place.position)
  return old.length
}
