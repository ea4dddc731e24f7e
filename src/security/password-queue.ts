import { Abandoned, Refusal } from '../model/refusal.ts'

export type PasswordQueue = {
  run<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result>
  waiting(): number
  waitedMs(): number
  /** The longest queue since the last call. */
  takeLongest(): number
}

/** Runs a limited number of works at once. Refuses work that would wait for longer than allowed. */
export function createPasswordQueue(slots: number, maxWaitMs: number): PasswordQueue {
  const waiting: (() => void)[] = []
  let running = 0
  let meanDurationMs = 20
  let waitedMs = 0
  let longest = 0

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
      // A client that disconnects leaves the queue at once.
      const leave = () => {
        waiting.splice(waiting.indexOf(start), 1)
        reject(new Abandoned())
      }
      waiting.push(start)
      longest = Math.max(longest, waiting.length)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Passes the slot on to the work that waits longest, without freeing it in between. */
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
        // The caller does not continue for a client that disconnected meanwhile.
        if (signal?.aborted) throw new Abandoned()
        return result
      } finally {
        meanDurationMs += (performance.now() - startedAt - meanDurationMs) / 16
        release()
      }
    },
    waiting: () => waiting.length,
    waitedMs: () => waitedMs,
    takeLongest() {
      const taken = longest
      longest = waiting.length
      return taken
    },
  }
}
