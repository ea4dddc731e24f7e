import { setTimeout as sleep } from 'node:timers/promises'

const DEADLINE_MS = 60_000

/** Calls `look` until it returns a value, and returns that value. */
export async function eventually<Value>(what: string, look: () => Promise<Value | undefined>, deadlineMs = DEADLINE_MS): Promise<Value> {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    const value = await look()
    if (value !== undefined) return value
    if (performance.now() > deadline) throw new Error(`waited ${deadlineMs} ms, in vain, until: ${what}`)
    await sleep(5)
  }
}

/** Waits until a condition holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs = DEADLINE_MS): Promise<void> {
  await eventually(what, async () => (await holds()) || undefined, deadlineMs)
}
