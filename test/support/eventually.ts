import { setTimeout as sleep } from 'node:timers/promises'

const DEADLINE_MS = 5000

/** Waits for what happens behind a request: gives the first value that is not undefined. */
export async function eventually<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> {
  const deadline = Date.now() + DEADLINE_MS
  while (Date.now() < deadline) {
    const value = await look()
    if (value !== undefined) return value
    await sleep(5)
  }
  throw new Error(`${what} did not happen within ${DEADLINE_MS} ms`)
}
