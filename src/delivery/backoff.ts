import type { MailErrorScope } from './mail/transport.ts'

const FIRST_DELAY_MS = 2_000
// All mail is sent within 30 seconds after a mail server that hung recovers: the timeout, this delay, and the time until the next poll.
const MAX_DELAY_MS = 12_000
const MAX_DELAY_OF_OLD_MS = 5 * 60_000
const OLD_AFTER_MS = 60 * 60_000

/**
 * The delay before the next attempt. It doubles each time; a random part, at most half of it, spreads mails that failed together.
 * A mail that the server keeps rejecting is retried less often after an hour.
 */
export function retryDelayMs(scope: MailErrorScope, attempts: number, ageMs: number, random: () => number): number {
  const max = scope === 'message' && ageMs > OLD_AFTER_MS ? MAX_DELAY_OF_OLD_MS : MAX_DELAY_MS
  const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempts, 20), max)
  return Math.round(delay * (1 - random() / 2))
}
