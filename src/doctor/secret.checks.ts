import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../config/load.ts'
import { parseSecretKey } from '../config/values.ts'
import { markProblem } from '../domain/audit/chain.ts'
import { FORMER_SECRET_NEEDED_MS, HOLDER_EXPIRY_MS } from '../domain/operations/secret-use.ts'
import { isoTime } from '../model/entity.ts'
import { existingSecretsOf, secretKeyFile } from '../process/secrets.ts'
import { createAuditSeals } from '../security/audit-seals.ts'
import { fingerprints, type Secrets } from '../security/derived-keys.ts'
import { formerSecretsFile } from '../security/secret-key.ts'
import { COMMAND } from '../shared/program.ts'
import { counted } from '../shared/text.ts'
import type { Inspection } from '../storage/maintenance/inspection.ts'
import { about, type Finding, reasonOf } from './finding.ts'

const SECRET = about('secret')
const ROTATION = about('rotation')
const AUDIT = about('audit')

/** Checks the secret that is kept in a file. One in the settings was checked with them. */
export function checkSecret(config: Config): Finding[] {
  const { database, secretKey, secretKeyFallbacks } = config
  const fallbacks = secretKeyFallbacks.length === 0 ? 'is not set' : `has ${counted(secretKeyFallbacks.length, 'secret')}`
  if (secretKey !== undefined) return SECRET.ok(`SECRET_KEY has ${secretKey.length} bytes; SECRET_KEY_FALLBACKS ${fallbacks}`)
  const file = secretKeyFile(database)
  if (file === undefined || !existsSync(file)) return SECRET.ok('none yet; the first start creates one')
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    return SECRET.failure(`${file} cannot be read: ${reasonOf(error)}`, 'Run the command as the user of the service, who owns the file.')
  }
  const parsed = parseSecretKey(text)
  const advice =
    'Restore the file from your backup. If you delete it, the next start creates a new one, which ends all sessions and mailed links.'
  if ('error' in parsed) return SECRET.failure(`the content of ${file} ${parsed.error.split(';')[0]}`, advice)
  try {
    const formers = (existingSecretsOf(config)?.length ?? 1) - 1
    return SECRET.ok(`${file} has ${parsed.value.length} bytes${formers === 0 ? '' : `, and ${counted(formers, 'former secret')}`}`)
  } catch (error) {
    return SECRET.failure(reasonOf(error), `Fix ${formerSecretsFile(file)}: each line is a former secret.`)
  }
}

type Uses = Pick<Inspection, 'secretUses' | 'secretHolders' | 'totpSeals'>
type Process = { readonly signs: string | undefined; readonly accepts: readonly string[] }

/** Says which step of replacing the secret key is next (docs/operations.md). Secrets are compared by their fingerprints. */
export function checkRotation(config: Config, uses: Uses, now: number): Finding[] {
  const secrets = readableSecrets(config)
  if (secrets === undefined) return []
  const [current, ...fallbacks] = fingerprints(secrets)
  const processes = runningProcesses(uses, now)
  const split = processes.filter(({ signs }) => processes.some(({ accepts }) => signs !== undefined && !accepts.includes(signs)))
  if (split.length > 0)
    return ROTATION.failure(
      `processes that sign tokens which another process refuses: ${split.length} of ${processes.length}`,
      'List the secret of each process in SECRET_KEY_FALLBACKS of all others, and restart them.',
    )
  const isCurrent = ({ signs, accepts }: Process) => signs === current && fallbacks.every((fallback) => accepts.includes(fallback))
  const behind = processes.filter((process) => !isCurrent(process)).length
  if (behind > 0)
    return ROTATION.warning(
      `processes with other secrets than these settings: ${behind} of ${processes.length}`,
      'Give them the same secrets and restart them, one after the other, before you take the next step.',
    )
  const steps = fallbacks.flatMap((fallback, index) =>
    nextStep(config, uses, now, { fallback, place: placeOf(config, index, fallbacks.length) }),
  )
  const findings = [...steps, ...refusedSecret(uses, [current, ...fallbacks], now)]
  return findings.length === 0 ? ROTATION.ok('none in progress') : findings
}

/** Undefined if there are none yet, or none that can be read: checkSecret() reports that. */
export function readableSecrets(config: Config): Secrets | undefined {
  try {
    return existingSecretsOf(config)
  } catch {
    return undefined
  }
}

function runningProcesses({ secretHolders }: Uses, now: number): Process[] {
  const held = Map.groupBy(
    secretHolders.filter(({ seenAt }) => seenAt > now - HOLDER_EXPIRY_MS),
    ({ processId }) => processId,
  )
  return [...held.values()].map((rows) => ({
    signs: rows.find(({ signs }) => signs)?.fingerprint,
    accepts: rows.map(({ fingerprint }) => fingerprint),
  }))
}

function placeOf({ secretKey, database }: Config, index: number, count: number): string {
  const name = secretKey === undefined ? formerSecretsFile(secretKeyFile(database) ?? '') : 'SECRET_KEY_FALLBACKS'
  return count === 1 ? `the secret in ${name}` : `secret ${index + 1} in ${name}`
}

/** A secret that was replaced without a fallback, on purpose or by mistake. */
function refusedSecret({ secretUses }: Uses, accepted: readonly string[], now: number): Finding[] {
  const refused = secretUses.filter(({ fingerprint }) => !accepted.includes(fingerprint))
  const lastUsedAt = Math.max(...refused.map((use) => use.lastUsedAt))
  if (refused.length === 0 || now >= lastUsedAt + FORMER_SECRET_NEEDED_MS) return []
  return ROTATION.warning(
    `a secret that signed tokens until ${minute(lastUsedAt)} is no longer accepted: its sessions and mailed links are refused`,
    'If it has not leaked, add it to the fallbacks and restart. If it has, this is right, and the warning ends 30 days after its last use.',
  )
}

function minute(at: number): string {
  return `${isoTime(at).slice(0, 16)}Z`
}

type Fallback = { readonly fallback: string; readonly place: string }

function nextStep({ secretKey }: Config, { secretUses, totpSeals }: Uses, now: number, { fallback, place }: Fallback): Finding[] {
  const lastUsedAt = secretUses.find(({ fingerprint }) => fingerprint === fallback)?.lastUsedAt
  if (lastUsedAt === undefined)
    return ROTATION.warning(
      `${place} is new: it has not signed anything, and every running process accepts it`,
      'Next: make it SECRET_KEY, make the current secret the fallback, and restart the processes one after the other.',
    )
  const neededUntil = lastUsedAt + FORMER_SECRET_NEEDED_MS
  if (now < neededUntil) return ROTATION.ok(`${place} has signed tokens that are valid until ${minute(neededUntil)}`)
  const sealed = totpSeals.find(({ sealedWith }) => sealedWith === fallback)?.count ?? 0
  if (sealed > 0)
    return ROTATION.warning(
      `${place} still encrypts the codes of ${counted(sealed, 'account')}`,
      'Keep it until the running service has encrypted them again, within ten minutes of its start.',
    )
  return ROTATION.warning(
    `${place} is no longer needed: its last token has expired`,
    `Next: remove it ${secretKey === undefined ? 'from the file' : 'on every machine'}, and restart the processes one after the other.`,
  )
}

const SEALED_AFTER_MS = 60_000

type Trail = Pick<Inspection, 'auditHead' | 'oldestUnsealedAt' | 'secretHolders' | 'pending'>

/** Checks that new events are sealed. It does not verify the whole chain, which may take long. */
export function checkAudit(config: Config, { auditHead, oldestUnsealedAt, secretHolders, pending }: Trail, now: number): Finding[] {
  const secrets = readableSecrets(config)
  if (secrets === undefined || pending.length > 0) return []
  const problem = auditHead && markProblem(createAuditSeals(secrets), 'head', auditHead)
  if (problem)
    return AUDIT.failure(
      `new events are not sealed: ${problem.reason}`,
      `Run: ${COMMAND} audit verify. If SECRET_KEY was replaced, add the former one to SECRET_KEY_FALLBACKS and restart.`,
    )
  const isRunning = secretHolders.some(({ seenAt }) => seenAt > now - HOLDER_EXPIRY_MS)
  if (isRunning && oldestUnsealedAt !== undefined && now - oldestUnsealedAt > SEALED_AFTER_MS)
    return AUDIT.failure(
      `new events have not been sealed since ${minute(oldestUnsealedAt)}`,
      `Search the log of the service for "audit trail", and run: ${COMMAND} audit verify`,
    )
  const waiting = oldestUnsealedAt === undefined ? '' : '; the next start seals those that were added since'
  return AUDIT.ok(`${counted(auditHead?.position ?? 0, 'event')} sealed${waiting}`)
}
