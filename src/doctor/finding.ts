import { codeOf } from '../shared/errors.ts'

/** `warning`: it works, and the operator should know. `error`: it does not work, or is not safe. */
export type Verdict = 'ok' | 'warning' | 'error'

export type Finding = {
  readonly check: string
  readonly verdict: Verdict
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
}

// A check returns a list, so each of these is a list of one.
export function ok(check: string, message: string): Finding[] {
  return [{ check, verdict: 'ok', message }]
}

export function warning(check: string, message: string, advice: string): Finding[] {
  return [{ check, verdict: 'warning', message, advice }]
}

export function failure(check: string, message: string, advice: string): Finding[] {
  return [{ check, verdict: 'error', message, advice }]
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The reason why a request failed is the cause of its error.
  const cause = error.cause instanceof Error ? error.cause : error
  const code = codeOf(cause)
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the server does not use TLS on this port'
  return (cause.message || code).replace(/\s*\n\s*/g, ' ')
}

/** Ends a check after the deadline, whatever it waits for. */
export async function inTime(
  check: string,
  deadlineMs: number,
  work: () => readonly Finding[] | Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<readonly Finding[]>((resolve) => {
    const advice = 'Check the network between this machine and the other one.'
    timer = setTimeout(() => resolve(failure(check, `the check did not end within ${deadlineMs / 1000} seconds`, advice)), deadlineMs)
  })
  try {
    return await Promise.race([work(), expired])
  } catch (error) {
    return failure(check, `could not be checked: ${reasonOf(error)}`, 'Fix this first, and run the command again.')
  } finally {
    clearTimeout(timer)
  }
}
