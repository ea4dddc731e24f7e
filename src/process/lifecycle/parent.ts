const POLL_MS = 200

/**
 * Calls `onEnded` when the process that started this one has ended. npm does not forward SIGHUP, and the shell that `npx` starts
 * forwards nothing: without this the service would continue to run after both are gone.
 */
export function watchParent(onEnded: () => void): void {
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
