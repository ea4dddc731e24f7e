import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { createPasswordQueue } from './password-queue.ts'

export type Passwords = {
  hash(password: string, signal?: AbortSignal): Promise<string>
  /** Takes the same time without a hash, and returns false: the response time does not show whether an account exists. */
  matches(password: string, passwordHash: string | undefined, signal?: AbortSignal): Promise<boolean>
  needsRehash(passwordHash: string): boolean
  /** For the metrics: the length of the queue, and the total time that passwords have waited in it. */
  waiting(): number
  waitedMs(): number
}

export type PasswordOptions = { readonly memoryKiB: number; readonly passes: number; readonly maxWaitMs: number }

// The value of Algorithm.Argon2id, a const enum, which type stripping cannot inline.
const ARGON2ID = 2

export const PASSWORD_OPTIONS: PasswordOptions = { memoryKiB: 19 * 1024, passes: 2, maxWaitMs: 2000 }

/** Hashes with argon2id outside of the event loop, behind a queue that is bounded by waiting time. */
export function createPasswords({ memoryKiB, passes, maxWaitMs }: PasswordOptions = PASSWORD_OPTIONS): Passwords {
  const cost = { algorithm: ARGON2ID, memoryCost: memoryKiB, timeCost: passes, parallelism: 1 }
  const costPrefix = `$argon2id$v=19$m=${memoryKiB},t=${passes},p=1$`
  // biome-ignore lint/style/noProcessEnv: not a setting of the service, but the variable that libuv itself reads
  const threads = hashingThreads(availableParallelism(), process.env['UV_THREADPOOL_SIZE'])
  const queue = createPasswordQueue(threads, maxWaitMs)
  // A hash of the same cost that no password has.
  const decoy = `${costPrefix}${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`

  return {
    hash: (password, signal) => queue.run(() => hash(password, cost), signal),
    async matches(password, passwordHash, signal) {
      const isMatch = await queue.run(() => verify(passwordHash ?? decoy, password), signal)
      return isMatch && passwordHash !== undefined
    },
    needsRehash: (passwordHash) => !passwordHash.startsWith(costPrefix),
    waiting: queue.waiting,
    waitedMs: queue.waitedMs,
  }
}

// The defaults and the bounds of libuv, which reads UV_THREADPOOL_SIZE itself.
const LIBUV_THREADS = 4
const MAX_LIBUV_THREADS = 1024

/**
 * How many passwords are hashed at once: one per core, and fewer than libuv has threads. Hashing runs on these threads, and so do DNS
 * look-ups and file access, which need a free one.
 */
export function hashingThreads(cores: number, threadPoolSize: string | undefined): number {
  const size = threadPoolSize === undefined ? LIBUV_THREADS : Number.parseInt(threadPoolSize, 10) || 1
  const threads = Math.min(Math.max(size, 1), MAX_LIBUV_THREADS)
  return Math.max(Math.min(cores, threads - 1), 1)
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
