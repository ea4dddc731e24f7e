import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

/** Logs that a request was answered with 503. */
export type OutageLog = (request: Pick<FastifyRequest, 'id' | 'routeOptions'>, error: Error) => void

const QUIET_MS = 1000
// There are few reasons. The limit protects the memory if a reason ever contains text of a client.
const MAX_REASONS = 100

/** An outage refuses hundreds of requests a second for one reason. This logs one line a second for each reason, with the number of others. */
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
