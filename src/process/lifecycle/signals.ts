/** The signals that start a graceful shutdown. A terminal that is closed sends SIGHUP. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export type Launch = { readonly isByNpm: boolean }

const REPEATED_WITHIN_MS = 500

/**
 * Calls `stop` on the first signal and `exit` on the second. Under npm, the same signal twice within half a second counts once: on
 * Ctrl+C the terminal sends it to every process, and npm forwards its own.
 */
export function onStopSignals({ isByNpm }: Launch, stop: (reason: string) => void, exit: () => void): void {
  let first: { readonly signal: string; readonly at: number } | undefined
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      if (first === undefined) {
        first = { signal, at: performance.now() }
        stop(signal)
        return
      }
      const isRepeated = isByNpm && signal === first.signal && performance.now() - first.at < REPEATED_WITHIN_MS
      if (!isRepeated) exit()
    })
  if (isByNpm)
    watchParent(() => {
      if (first !== undefined) return
      first = { signal: 'npm ended', at: performance.now() }
      stop(first.signal)
    })
}

const POLL_MS = 200

/**
 * Calls `onEnded` when the process that started this one has ended. npm does not forward SIGHUP, and the shell that `npx` starts
 * forwards nothing: without this the service would continue to run after both are gone.
 */
function watchParent(onEnded: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onEnded()
  }, POLL_MS).unref()
}

/** Whether the environment is that of `npm start` or `npx`. Other scripts may start the service in the background and end. */
export function isStartedByNpm(env: Readonly<Record<string, string | undefined>>): boolean {
  return ['start', 'npx'].includes(env['npm_lifecycle_event'] ?? '')
}
