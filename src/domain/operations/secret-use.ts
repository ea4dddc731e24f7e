import { randomUUID } from 'node:crypto'
import { fingerprints, type Secrets } from '../../security/derived-keys.ts'
import { LIFETIME_MINUTES } from '../../security/token.ts'
import { reportingOnce } from '../../shared/reporting-once.ts'
import {
  forgetHoldersBefore,
  hasOtherSecret,
  holdSecrets,
  recordSecretUse,
  releaseSecrets,
} from '../../storage/repositories/operations/secret-use.repository.ts'
import type { DomainParts } from '../changes/changes.ts'

export type SecretUse = { start(): void; stop(): Promise<void>; run(): Promise<void> }

export type SecretUseParts = Pick<DomainParts, 'changes' | 'now'> & {
  readonly secrets: Secrets
  readonly onFailure: (error: unknown) => void
  readonly retryMs?: number
}

const INTERVAL_MS = 5 * 60_000
// Until a process is recorded, `doctor` does not know that it runs.
const RETRY_MS = 10_000
/** A process that was not seen for so long is gone. */
export const HOLDER_EXPIRY_MS = 3 * INTERVAL_MS
const HOUR_MS = 60 * 60_000
/** A former secret is needed until its last token expires. The hour covers signatures after the last record, and clocks that differ. */
export const FORMER_SECRET_NEEDED_MS = LIFETIME_MINUTES.refresh * 60_000 + HOUR_MS

/** Records, outside of requests, which secrets this process has and which one signs, so that `doctor` can say how far a rotation is. */
export function createSecretUse({ changes, now, secrets, onFailure, retryMs = RETRY_MS }: SecretUseParts): SecretUse {
  const processId = randomUUID()
  const names = fingerprints(secrets)
  let timer: NodeJS.Timeout | undefined
  let lastRun = Promise.resolve()
  let isRecorded = false
  let isStopped = false

  function run(): Promise<void> {
    return changes.withoutCaller({ via: 'start' }, async (tx) => {
      const isNew = await recordSecretUse(tx, names[0], now())
      // The first secret of a database replaces none.
      if (isNew && (await hasOtherSecret(tx, names[0]))) tx.record({ kind: 'secret.rotated' })
      await forgetHoldersBefore(tx, now() - HOLDER_EXPIRY_MS)
      await holdSecrets(tx, processId, names, now())
    })
  }

  const runSafely = reportingOnce(run, onFailure)

  async function runInBackground(): Promise<void> {
    if (await runSafely()) isRecorded = true
    if (!isStopped) timer = setTimeout(runNext, isRecorded ? INTERVAL_MS : retryMs).unref()
  }

  function runNext(): void {
    lastRun = runInBackground()
  }

  return {
    run,
    start() {
      runNext()
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await lastRun
      await changes.withoutCaller({ via: 'start' }, (tx) => releaseSecrets(tx, processId)).catch(onFailure)
    },
  }
}
