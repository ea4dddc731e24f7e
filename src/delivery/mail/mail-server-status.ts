import type { DispatcherLogger } from '../dispatcher.ts'
import type { MailError, MailTransport } from './transport.ts'

/** The operation that failed: a check, which concerns every mail, or the sending of one mail. */
export type Operation = 'check' | 'sending'

type Parts = { readonly transport: MailTransport; readonly now: () => number; readonly logger: DispatcherLogger }

// A server that has just accepted a mail needs no check.
const TRUSTED_MS = 10_000

/** Whether the mail server can be used. An outage is logged once when it begins and once when it ends, not with each mail that waits. */
export function createMailServerStatus({ transport, now, logger }: Parts) {
  let outageSeenBy: Operation | undefined
  let reachedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined

  function isTrusted(): boolean {
    return now() - reachedAt <= TRUSTED_MS
  }

  function isOutage(): boolean {
    return outageSeenBy !== undefined
  }

  /** Throws MailError during an outage. Concurrent callers share one check. */
  async function requireAvailable(): Promise<void> {
    if (isTrusted()) return
    checking ??= transport.check().finally(() => {
      checking = undefined
    })
    await checking
    noteReached('check')
  }

  function noteOutage(error: MailError, operation: Operation): void {
    reachedAt = Number.NEGATIVE_INFINITY
    if (outageSeenBy === undefined) logger.warn({ reason: error.message }, 'mail cannot be sent; it waits and is retried')
    outageSeenBy = operation
  }

  /** A server may pass a check and still accept no mail, so an outage that was found while sending ends only when a mail is accepted. */
  function noteReached(operation: Operation): void {
    reachedAt = now()
    if (outageSeenBy === undefined || (outageSeenBy === 'sending' && operation === 'check')) return
    outageSeenBy = undefined
    logger.info('mail can be sent again')
  }

  return { isTrusted, isOutage, requireAvailable, noteOutage, noteReached }
}
