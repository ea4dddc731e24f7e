import { randomUUID } from 'node:crypto'
import type { Operator } from '../../model/caller.ts'
import { fingerprints, type Secrets } from '../../security/derived-keys.ts'
import { generateSecretKey, MAX_FORMER_SECRETS, readKeptSecrets, replaceKeptSecret } from '../../security/secret-key.ts'
import { LIFETIME_MINUTES } from '../../security/token.ts'
import { reportingOnce } from '../../shared/errors.ts'
import {
  findLastSecretUse,
  forgetHoldersBefore,
  hasOtherSecret,
  holdSecrets,
  recordSecretUse,
  releaseSecrets,
} from '../../storage/repositories/operations/operations.repository.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'

export type SecretUse = ReturnType<typeof createSecretUse>

type SecretUseParts = Pick<DomainParts, 'changes' | 'now'> & {
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
export function createSecretUse({ changes, now, secrets, onFailure, retryMs = RETRY_MS }: SecretUseParts) {
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
    start: runNext,
    async stop(): Promise<void> {
      isStopped = true
      clearTimeout(timer)
      await lastRun
      await changes.withoutCaller({ via: 'start' }, (tx) => releaseSecrets(tx, processId)).catch(onFailure)
    },
  }
}

type SecretRotation =
  | { readonly isDone: true; readonly formerSecrets: number }
  /** Every former secret may still have valid tokens, the oldest until then. */
  | { readonly isDone: false; readonly possibleFrom: number }

/**
 * Replaces the kept secret by a new one. The transaction makes parallel calls wait for each other, and the former secret is kept before
 * the new one exists: a crash at any moment leaves files with which every token stays valid.
 */
export function rotateKeptSecret(
  { changes, now }: Pick<DomainParts, 'changes' | 'now'>,
  { origin }: Operator,
  file: string,
): Promise<SecretRotation | undefined> {
  return changes.withoutCaller(origin, async (tx) => {
    const secrets = readKeptSecrets(file)
    if (secrets === undefined) return undefined
    const { needed, firstEnd } = await neededFallbacks(tx, secrets, now())
    if (needed.length >= MAX_FORMER_SECRETS) return { isDone: false, possibleFrom: firstEnd }
    const next = new TextEncoder().encode(generateSecretKey())
    // A service of an earlier version has not recorded its use. The new secret is recorded too: its first start is not another rotation.
    for (const fingerprint of fingerprints([secrets[0], next])) await recordSecretUse(tx, fingerprint, now())
    tx.record({ kind: 'secret.rotated' })
    const formers = [secrets[0], ...needed]
    replaceKeptSecret(file, next, formers)
    return { isDone: true, formerSecrets: formers.length }
  })
}

/** The fallbacks whose tokens may still be valid. One that was never recorded is kept: it may have signed before records began. */
async function neededFallbacks(tx: ChangeTransaction, secrets: Secrets, now: number) {
  const [, ...fallbacks] = secrets
  const [, ...names] = fingerprints(secrets)
  const lastUses = await Promise.all(names.map((fingerprint) => findLastSecretUse(tx, fingerprint)))
  const ends = lastUses.map((lastUse) => (lastUse ?? now) + FORMER_SECRET_NEEDED_MS)
  return { needed: fallbacks.filter((_, index) => (ends[index] ?? now) > now), firstEnd: Math.min(...ends) }
}
