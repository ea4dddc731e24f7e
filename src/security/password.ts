import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import type { createEqualWork, MeasureFamilies } from './foreign/equal-work.ts'
import { PASSWORD_COST, unpadded } from './foreign/foreign-hash.ts'
import { createPasswordQueue } from './password-queue.ts'

export type Passwords = ReturnType<typeof createPasswords>

type PasswordOptions = { readonly memoryKiB: number; readonly passes: number; readonly maxWaitMs: number }

const SALT_AND_HASH = /^([^$]+)\$([^$]+)$/
// The value of Algorithm.Argon2id, a const enum, which type stripping cannot inline.
const ARGON2ID = 2

/** In place of the hash of an account that has no password, such as one that was imported without it. No password matches. */
export const NO_PASSWORD = '!'

export const PASSWORD_OPTIONS: PasswordOptions = { ...PASSWORD_COST, maxWaitMs: 2000 }

/** Hashes with argon2id outside of the event loop, behind a queue that is bounded by waiting time. */
export function createPasswords(
  { memoryKiB, passes, maxWaitMs }: PasswordOptions = PASSWORD_OPTIONS,
  measure?: MeasureFamilies | undefined,
) {
  const cost = { algorithm: ARGON2ID, memoryCost: memoryKiB, timeCost: passes, parallelism: 1 }
  const costPrefix = prefixOf({ memoryKiB, passes })
  // biome-ignore lint/style/noProcessEnv: not a setting of the service, but the variable that libuv itself reads
  const threads = hashingThreads(availableParallelism(), process.env['UV_THREADPOOL_SIZE'])
  const queue = createPasswordQueue(threads, maxWaitMs)
  let equalWork: Promise<ReturnType<typeof createEqualWork>> | undefined
  // A hash of the same cost that no password has.
  const decoy = `${costPrefix}${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`

  /** Loads what only a service with accounts of another system needs. */
  async function prepareForeign(foreignHash: string | undefined, kinds: readonly string[]) {
    equalWork ??= import('./foreign/equal-work.ts').then((loaded) => loaded.createEqualWork(measure))
    return (await equalWork)(foreignHash, kinds)
  }

  return {
    hash: (password: string, signal?: AbortSignal): Promise<string> => queue.run(() => hash(password, cost), signal),
    /**
     * Takes the same time without a hash, and returns false: the response time does not show whether an account exists. While accounts have
     * hashes of other systems, `foreignKinds` lists their kinds, and each comparison costs as much as any other.
     */
    async matches(
      password: string,
      passwordHash: string | undefined,
      signal?: AbortSignal,
      foreignKinds: readonly string[] = [],
    ): Promise<boolean> {
      const isNative = passwordHash !== undefined && isHashOf(costPrefix, passwordHash)
      const isForeign = foreignKinds.length > 0 || !(isNative || passwordHash === undefined)
      const matchesForeign = isForeign ? await prepareForeign(isNative ? undefined : passwordHash, foreignKinds) : undefined
      return queue.run(async () => {
        const isMatch = await verify(isNative ? passwordHash : decoy, password)
        const isForeignMatch = await matchesForeign?.(password)
        return isNative ? isMatch : isForeignMatch === true
      }, signal)
    },
    needsRehash: (passwordHash: string): boolean => !isHashOf(costPrefix, passwordHash),
    /** Refuses if the queue is full, so that an overload costs as little as possible. */
    requireRoom: queue.requireRoom,
    /** For the metrics: the length of the queue, and the total time that passwords have waited in it. */
    waiting: queue.waiting,
    waitedMs: queue.waitedMs,
    /** For the status page. */
    takeLongestQueue: queue.takeLongest,
  }
}

/** Whether the service would make a hash of this cost itself. */
export function isNativeHash(passwordHash: string): boolean {
  return isHashOf(prefixOf(PASSWORD_OPTIONS), passwordHash)
}

/** The library accepts no other spelling of salt and hash; one of another system is read by its own rules. */
function isHashOf(costPrefix: string, passwordHash: string): boolean {
  if (!passwordHash.startsWith(costPrefix)) return false
  const [, ...parts] = SALT_AND_HASH.exec(passwordHash.slice(costPrefix.length)) ?? []
  return parts.length > 0 && parts.every((part) => unpadded(Buffer.from(part, 'base64')) === part)
}

function prefixOf({ memoryKiB, passes }: Pick<PasswordOptions, 'memoryKiB' | 'passes'>): string {
  return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=1$`
}

// The defaults and the bounds of libuv, which reads UV_THREADPOOL_SIZE itself.
const LIBUV_THREADS = 4
const MAX_LIBUV_THREADS = 1024

/**
 * How many passwords are hashed at once: one per core and one more, so that no core waits while the event loop is busy, and fewer than
 * libuv has threads. Hashing runs on these threads, and so do DNS look-ups and file access, which need a free one.
 */
export function hashingThreads(cores: number, threadPoolSize: string | undefined): number {
  const size = threadPoolSize === undefined ? LIBUV_THREADS : Number.parseInt(threadPoolSize, 10) || 1
  const threads = Math.min(Math.max(size, 1), MAX_LIBUV_THREADS)
  return Math.max(Math.min(cores + 1, threads - 1), 1)
}
