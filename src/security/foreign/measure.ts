import { pbkdf2Sync, scryptSync } from 'node:crypto'
import { hashRawSync } from '@node-rs/argon2'
import { hashSync } from '@node-rs/bcrypt'
import { codeOf } from '../../shared/errors.ts'
import { ARGON2_VARIANTS } from './argon2.ts'
import { estimatedUnitMs, parseFamily } from './kinds.ts'
import type { UnitMs } from './login-work.ts'

/** One computation that is short enough to be repeated, and the amount of work of the family that it does. */
type Sample = { readonly amount: number; run(): void }

const PASSWORD = 'a password of usual length'
const SALT = Buffer.alloc(16)
const BCRYPT_COST = 8
const ITERATIONS = 100_000
// More memory than the caches of a processor have. Hashes with still more take about as long for each MiB.
const MAX_ARGON2_KIB = 128 * 1024
const MAX_SCRYPT_WORK = 2 ** 18
const MAX_SCRYPT_BYTES = 2 ** 26

const REFUSED_PARAMETERS = 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS'

const RUNS = 3
// The clock of a thread may be coarse: a short computation is repeated until the clock has moved.
const MIN_RUN_MS = 1
const MAX_TOTAL_MS = 20_000

/**
 * Measures an amount of 1 of a family, in milliseconds of one core. The time of this thread counts, not what other work on the machine takes
 * meanwhile, and the shortest of some runs. Blocks its thread for some tenths of a second.
 */
export function measureUnitMs(family: string): number {
  const { amount, run } = sampleOf(family)
  try {
    return Math.min(...Array.from({ length: RUNS }, () => meanMs(run))) / amount
  } catch (error) {
    // A login computes nothing either then. Only a row that was changed by hand has such parameters. Memory may be missing for a moment only.
    return codeOf(error) === REFUSED_PARAMETERS ? 0 : estimatedUnitMs(family)
  }
}

/** Measures each family once, and as many families as a limited time allows. What is not measured counts as endless. */
export function createMeasurements(measure: UnitMs = measureUnitMs, now: () => number = threadMs): UnitMs {
  const measured = new Map<string, number>()
  let totalMs = 0
  return (family) => {
    const known = measured.get(family)
    if (known !== undefined) return known
    if (totalMs >= MAX_TOTAL_MS) return Number.POSITIVE_INFINITY
    const startedAt = now()
    const unitMs = measure(family)
    measured.set(family, unitMs)
    totalMs += now() - startedAt
    return unitMs
  }
}

function meanMs(run: () => void): number {
  const startedAt = threadMs()
  let [count, spentMs] = [0, 0]
  while (spentMs < MIN_RUN_MS) {
    run()
    count++
    spentMs = threadMs() - startedAt
  }
  return spentMs / count
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function sampleOf(family: string): Sample {
  const { algorithm, parameters } = parseFamily(family)
  const [first, second, third] = parameters
  if (algorithm === 'bcrypt') return { amount: 2 ** BCRYPT_COST, run: () => hashSync(PASSWORD, BCRYPT_COST) }
  if (algorithm === 'scrypt') return scryptSample(first, second, third)
  const [name, digest = ''] = algorithm.split('-')
  if (name === 'pbkdf2') return { amount: ITERATIONS, run: () => pbkdf2Sync(PASSWORD, SALT, ITERATIONS, SALT.length, digest) }
  return argon2Sample(ARGON2_VARIANTS[algorithm], first, second)
}

/** The work grows with the memory and the passes. The lanes share it, and are computed on other threads if there are several. */
function argon2Sample(variant: number | undefined, memoryKiB: number, passes: number): Sample {
  if (variant === undefined) return { amount: 1, run: () => undefined }
  const memoryCost = Math.min(memoryKiB, MAX_ARGON2_KIB)
  const cost = { algorithm: variant, memoryCost, timeCost: 1, parallelism: 1 }
  return { amount: memoryCost / (memoryKiB * passes), run: () => hashRawSync(PASSWORD, cost) }
}

/** The work grows with N, r and p. */
function scryptSample(wholeN: number, r: number, p: number): Sample {
  const N = Math.min(wholeN, 2 ** Math.floor(Math.log2(MAX_SCRYPT_WORK / r)))
  return { amount: N / (wholeN * p), run: () => scryptSync(PASSWORD, SALT, SALT.length, { N, r, p: 1, maxmem: MAX_SCRYPT_BYTES }) }
}
