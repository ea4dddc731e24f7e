import type { MailErrorScope } from './transport.ts'

const FIRST_DELAY_MS = 2_000
// Mail is out within 30 seconds of the return of a mail server that hung: its time-out, this delay, and the pause between two polls.
const MAX_DELAY_MS = 12_000
const MAX_DELAY_OF_OLD_MS = 5 * 60_000
const OLD_AFTER_MS = 60 * 60_000

/**
 * How long to wait before the next attempt. Doubles each time; a random part, never more than half, spreads mails that failed together.
 * A server that takes other mail is asked about one that it keeps turning away less often after an hour.
 */
export function retryDelayMs(scope: MailErrorScope, attempts: number, ageMs: number, random: () => number): number {
  const max = scope === 'message' && ageMs > OLD_AFTER_MS ? MAX_DELAY_OF_OLD_MS : MAX_DELAY_MS
  const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempts, 20), max)
  return Math.round(delay * (1 - random() / 2))
}
