import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { Abandoned, Refusal } from '../model/refusal.ts'

export type Passwords = {
  hash(password: string, signal?: AbortSignal): Promise<string>
  /** Without a hash it works as long as with one, and says no: the time tells nothing about an account. */
  matches(password: string, passwordHash: string | undefined, signal?: AbortSignal): Promise<boolean>
  needsRehash(passwordHash: string): boolean
  /** How many wait, and how long all have waited so far: for the metrics. */
  waiting(): number
  waitedMs(): number
}

export type PasswordOptions = { readonly memoryKiB: number; readonly passes: number; readonly maxWaitMs: number }

// The value of Algorithm.Argon2id, which is declared in a way that TypeScript cannot erase.
const ARGON2ID = 2

export const PASSWORD_OPTIONS: PasswordOptions = { memoryKiB: 19 * 1024, passes: 2, maxWaitMs: 2000 }

/** argon2id off the event loop, as many at once as there are cores, behind a queue that is bounded by waiting time. */
export function createPasswords({ memoryKiB, passes, maxWaitMs }: PasswordOptions = PASSWORD_OPTIONS): Passwords {
  const cost = { algorithm: ARGON2ID, memoryCost: memoryKiB, timeCost: passes, parallelism: 1 }
  const costPrefix = `$argon2id$v=19$m=${memoryKiB},t=${passes},p=1$`
  const queue = createQueue(availableParallelism(), maxWaitMs)
  // No password has this hash, and to compare one with it takes as long as with any other.
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

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

type Queue = {
  run<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result>
  waiting(): number
  waitedMs(): number
}

function createQueue(slots: number, maxWaitMs: number): Queue {
  const waiting: (() => void)[] = []
  let running = 0
  let meanDurationMs = 20
  let waitedMs = 0

  async function acquire(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw new Abandoned()
    if (running < slots) {
      running++
      return
    }
    const expectedWaitMs = ((waiting.length + 1) / slots) * meanDurationMs
    if (expectedWaitMs > maxWaitMs) throw new Refusal('unavailable', 'the password queue is full')
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      // Somebody who waits no longer makes room for the others at once.
      const leave = () => {
        waiting.splice(waiting.indexOf(start), 1)
        reject(new Abandoned())
      }
      waiting.push(start)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Hands the slot to the one who waits longest, without freeing it in between. */
  function release(): void {
    const next = waiting.shift()
    if (next) next()
    else running--
  }

  return {
    async run(work, signal) {
      const arrivedAt = performance.now()
      await acquire(signal)
      const startedAt = performance.now()
      waitedMs += startedAt - arrivedAt
      try {
        const result = await work()
        // Nothing is begun with it for somebody who has gone meanwhile.
        if (signal?.aborted) throw new Abandoned()
        return result
      } finally {
        meanDurationMs += (performance.now() - startedAt - meanDurationMs) / 16
        release()
      }
    },
    waiting: () => waiting.length,
    waitedMs: () => waitedMs,
  }
}
