/** Called once when an outage begins, and once when it ends. */
export type OutageObserver = {
  readonly onOutage?: ((reason: string) => void) | undefined
  readonly onRecovery?: ((outageMs: number) => void) | undefined
}

export type OutageWatch = { failed(reason: string): void; succeeded(): void }

export function createOutageWatch({ onOutage, onRecovery }: OutageObserver): OutageWatch {
  let begunAt: number | undefined
  return {
    failed(reason) {
      if (begunAt !== undefined) return
      begunAt = performance.now()
      onOutage?.(reason)
    },
    succeeded() {
      if (begunAt === undefined) return
      const outageMs = performance.now() - begunAt
      begunAt = undefined
      onRecovery?.(outageMs)
    },
  }
}
