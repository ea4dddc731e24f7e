import { constants } from 'node:os'

type Signal = 'SIGINT' | 'SIGTERM'

/** The command was interrupted, and has undone what it had begun. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(signal: Signal, message: string) {
    super(message)
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** Runs work that cleans up after itself when it is interrupted. The work calls `check` at each step; it throws after a signal. */
export async function interruptible<Result>(
  work: (check: () => void) => Promise<Result>,
  message = 'interrupted; nothing was changed',
): Promise<Result> {
  let received: Signal | undefined
  const note = (signal: Signal) => {
    received ??= signal
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, note)
  try {
    return await work(() => {
      if (received !== undefined) throw new Interrupted(received, message)
    })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, note)
  }
}
