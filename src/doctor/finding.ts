import { codeOf } from '../shared/errors.ts'
import { within } from '../shared/within.ts'

/** `warning`: it works, and the operator should know. `error`: it does not work, or is not safe. */
export type Verdict = 'ok' | 'warning' | 'error'

export type Finding = {
  readonly check: string
  readonly verdict: Verdict
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
}

/** The findings of one check. A check returns a list, so each of these is a list of one. */
export function about(check: string) {
  return {
    ok: (message: string): Finding[] => [{ check, verdict: 'ok', message }],
    warning: (message: string, advice: string): Finding[] => [{ check, verdict: 'warning', message, advice }],
    failure: (message: string, advice: string): Finding[] => [{ check, verdict: 'error', message, advice }],
  }
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
  const { failure } = about(check)
  const advice = 'Check the network between this machine and the other one.'
  try {
    return await within(deadlineMs, Promise.try(work), failure(`the check did not end within ${deadlineMs / 1000} seconds`, advice))
  } catch (error) {
    return failure(`could not be checked: ${reasonOf(error)}`, 'Fix this first, and run the command again.')
  }
}
