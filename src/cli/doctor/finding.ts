/** `warning`: it works, and somebody should know. `fault`: it does not work, or is not safe. */
export type Verdict = 'ok' | 'warning' | 'fault'

export type Finding = {
  readonly check: string
  readonly verdict: Verdict
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
}

export function ok(check: string, message: string): Finding {
  return { check, verdict: 'ok', message }
}

export function warning(check: string, message: string, advice: string): Finding {
  return { check, verdict: 'warning', message, advice }
}

export function fault(check: string, message: string, advice: string): Finding {
  return { check, verdict: 'fault', message, advice }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // What a failed request says is one level below.
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  if (/wrong version number/.test(cause.message)) return 'TLS is not spoken there'
  return (cause.message || code).replace(/\s*\n\s*/g, ' ')
}

/** Whatever a check waits for, it ends. */
export async function inTime(check: string, deadlineMs: number, work: Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<readonly Finding[]>((resolve) => {
    const late = fault(check, `no end after ${deadlineMs / 1000} seconds`, 'Look at what lies between this machine and the other one.')
    timer = setTimeout(() => resolve([late]), deadlineMs)
  })
  try {
    return await Promise.race([work, expired])
  } catch (error) {
    return [fault(check, `could not be checked: ${reasonOf(error)}`, 'Mend this first, and run the command again.')]
  } finally {
    clearTimeout(timer)
  }
}
