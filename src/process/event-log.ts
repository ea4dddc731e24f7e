import type { Logger } from 'pino'
import type { Event } from '../model/event.ts'

/** Logs what was changed, by whom, and where the request came from. */
export function createEventLog(logger: Pick<Logger, 'info'>): (event: Event) => void {
  return ({ kind, at, ...details }) => logger.info({ event: kind, ...details }, kind)
}
