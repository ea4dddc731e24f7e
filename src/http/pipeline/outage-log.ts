import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

/** Tells the log that a request could not be served now. */
export type OutageLog = (request: Pick<FastifyRequest, 'id' | 'routeOptions'>, error: Error) => void

const QUIET_MS = 1000
// Reasons are few; should somebody's words find their way into them, they do not fill the memory.
const MAX_REASONS = 100

/** An outage or a storm refuses hundreds of requests a second for one reason: one line a second says so, and how many came in between. */
export function createOutageLog(logger: FastifyBaseLogger, nowMs = () => performance.now()): OutageLog {
  const reasons = new Map<string, { readonly toldAtMs: number; untold: number }>()
  return ({ id, routeOptions }, { message }) => {
    const known = reasons.get(message)
    if (known && nowMs() - known.toldAtMs < QUIET_MS) {
      known.untold++
      return
    }
    if (reasons.size >= MAX_REASONS) reasons.clear()
    reasons.set(message, { toldAtMs: nowMs(), untold: 0 })
    logger.error({ requestId: id, route: routeOptions.url, reason: message, others: known?.untold ?? 0 }, 'unavailable')
  }
}
