import type { Config } from '../config/load.ts'
import { markProblem } from '../domain/audit/chain.ts'
import { HOLDER_EXPIRY_MS } from '../domain/operations/secret-use.ts'
import { existingSecretsOf } from '../process/secrets.ts'
import { createAuditSeals } from '../security/audit-seals.ts'
import type { Secrets } from '../security/derived-keys.ts'
import { COMMAND } from '../shared/command.ts'
import { counted } from '../shared/counted.ts'
import type { Inspection } from '../storage/maintenance/inspection.ts'
import { type Finding, failure, ok } from './finding.ts'

const SEALED_AFTER_MS = 60_000

type Trail = Pick<Inspection, 'auditHead' | 'oldestUnsealedAt' | 'secretHolders' | 'pending'>

/** Checks that new events are sealed. It does not verify the whole chain, which may take long. */
export function checkAudit(config: Config, { auditHead, oldestUnsealedAt, secretHolders, pending }: Trail, now: number): Finding[] {
  const secrets = readable(config)
  if (secrets === undefined || pending.length > 0) return []
  const problem = auditHead && markProblem(createAuditSeals(secrets), 'head', auditHead)
  if (problem)
    return [
      failure(
        'audit',
        `new events are not sealed: ${problem.reason}`,
        `Run: ${COMMAND} audit verify. If SECRET_KEY was replaced, add the former one to SECRET_KEY_FALLBACKS and restart.`,
      ),
    ]
  const isRunning = secretHolders.some(({ seenAt }) => seenAt > now - HOLDER_EXPIRY_MS)
  if (isRunning && oldestUnsealedAt !== undefined && now - oldestUnsealedAt > SEALED_AFTER_MS)
    return [
      failure(
        'audit',
        `new events have not been sealed since ${new Date(oldestUnsealedAt).toISOString().slice(0, 16)}Z`,
        `Search the log of the service for "audit trail", and run: ${COMMAND} audit verify`,
      ),
    ]
  const waiting = oldestUnsealedAt === undefined ? '' : '; the next start seals those that were added since'
  return [ok('audit', `${counted(auditHead?.position ?? 0, 'event')} sealed${waiting}`)]
}

function readable(config: Config): Secrets | undefined {
  try {
    return existingSecretsOf(config)
  } catch {
    // checkSecret() has reported it.
    return undefined
  }
}
