import { constants } from 'node:os'

type Signal = 'SIGINT' | 'SIGTERM'

/** Somebody has lost patience. What was begun has been taken back. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(signal: Signal) {
    super('interrupted; what was begun has been taken back')
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** Lets work that comes in steps end with its own cleaning up. `check` is called with each step, and throws after a signal. */
export async function interruptible<Result>(work: (check: () => void) => Promise<Result>): Promise<Result> {
  let received: Signal | undefined
  const note = (signal: Signal) => {
    received ??= signal
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, note)
  try {
    return await work(() => {
      if (received !== undefined) throw new Interrupted(received)
    })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, note)
  }
}
