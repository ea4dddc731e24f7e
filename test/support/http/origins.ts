import type { Actor, Caller, Operator, Origin } from '../../../src/model/caller.ts'

/** The origin of an ordinary request. */
export const ORIGIN: Origin = { via: 'http' }
export const OPERATOR: Operator = { caller: 'operator', origin: { via: 'cli' } }

export function actorOf(caller: Caller): Actor {
  return { caller, origin: ORIGIN }
}
