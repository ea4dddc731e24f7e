import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

/** Logs that a request was answered with 503. */
export type OutageLog = (request: Pick<FastifyRequest, 'id' | 'routeOptions'>, error: Error) => void

const QUIET_MS = 1000
// There are few reasons. The limit bounds the memory in case a reason ever contains text from a client.
const MAX_REASONS = 100

/** During an outage, hundreds of requests a second fail for one reason. This logs one line a second per reason, with the number of others. */
export function createOutageLog(logger: FastifyBaseLogger, nowMs = () => performance.now()): OutageLog {
  const reasons = new Map<string, { readonly loggedAtMs: number; others: number }>()
  return ({ id, routeOptions }, { message }) => {
    const known = reasons.get(message)
    if (known && nowMs() - known.loggedAtMs < QUIET_MS) {
      known.others++
      return
    }
    if (reasons.size >= MAX_REASONS) reasons.clear()
    reasons.set(message, { loggedAtMs: nowMs(), others: 0 })
    logger.error({ requestId: id, route: routeOptions.url, reason: message, others: known?.others ?? 0 }, 'unavailable')
  }
}
