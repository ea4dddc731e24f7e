import { Abandoned, Refusal } from '../model/refusal.ts'

type Waiting = { readonly arrivedAt: number; start(): void; refuse(): void }

const begun = new WeakSet<AbortSignal>()

/** Whether work has begun for the request with this signal. A request that is refused then has cost something all the same. */
export function hasBegun(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && begun.has(signal)
}

/**
 * Runs a limited number of works at once. Refuses work that would wait for longer than allowed: on arrival, if that is to be expected, or
 * when its turn comes too late. The request of such work is about to end, and in an overload its result would often be wasted.
 */
export function createPasswordQueue(slots: number, maxWaitMs: number, now: () => number = () => performance.now()) {
  const waiting: Waiting[] = []
  let running = 0
  let meanDurationMs = 20
  let waitedMs = 0
  let longest = 0

  /** Refuses what `run` would refuse on arrival. */
  function requireRoom(): void {
    const expectedWaitMs = running < slots ? 0 : ((waiting.length + 1) / slots) * meanDurationMs
    if (expectedWaitMs > maxWaitMs) throw new Refusal('unavailable', 'the password queue is full')
  }

  async function acquire(arrivedAt: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw new Abandoned()
    if (running < slots) {
      running++
      return
    }
    requireRoom()
    await new Promise<void>((resolve, reject) => {
      const place: Waiting = {
        arrivedAt,
        start() {
          signal?.removeEventListener('abort', leave)
          resolve()
        },
        refuse() {
          signal?.removeEventListener('abort', leave)
          waitedMs += now() - arrivedAt
          reject(new Refusal('unavailable', `the password waited for longer than ${maxWaitMs} ms`))
        },
      }
      // A client that disconnects leaves the queue at once.
      const leave = () => {
        waiting.splice(waiting.indexOf(place), 1)
        reject(new Abandoned())
      }
      waiting.push(place)
      longest = Math.max(longest, waiting.length)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Passes the slot on to the work that waits longest, without freeing it in between. */
  function release(): void {
    const latest = now() - maxWaitMs
    let next = waiting.shift()
    for (; next !== undefined && next.arrivedAt < latest; next = waiting.shift()) next.refuse()
    if (next) next.start()
    else running--
  }

  return {
    async run<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
      const arrivedAt = now()
      await acquire(arrivedAt, signal)
      const startedAt = now()
      waitedMs += startedAt - arrivedAt
      if (signal !== undefined) begun.add(signal)
      try {
        const result = await work()
        // The caller does not continue for a client that disconnected meanwhile.
        if (signal?.aborted) throw new Abandoned()
        return result
      } finally {
        meanDurationMs += (now() - startedAt - meanDurationMs) / 16
        release()
      }
    },
    requireRoom,
    waiting: () => waiting.length,
    waitedMs: () => waitedMs,
    /** The longest queue since the last call. */
    takeLongest(): number {
      const taken = longest
      longest = waiting.length
      return taken
    },
  }
}
