import { entity, instant, integer, orNull, text, type ValuesOf } from './entity.ts'
import { EVENT } from './event.ts'

/** An HMAC and the name of its key. */
export type Seal = { readonly mac: string; readonly macKey: string }

/** An event as the process that caused it has written it. The salt is null once address and details are erased. */
export const WRITTEN_EVENT = entity('events', { ...EVENT.fields, salt: orNull(text), mac: text, macKey: text })
export type WrittenEvent = ValuesOf<typeof WRITTEN_EVENT.fields>

/** A link of the hash chain, without its event. */
export const EVENT_SEAL = entity('event_seals', {
  position: integer,
  eventId: integer,
  sealedAt: instant,
  digest: text,
  hash: text,
  mac: text,
  macKey: text,
})
export type EventSeal = ValuesOf<typeof EVENT_SEAL.fields>

/** Where the chain begins or ends. */
export const AUDIT_MARK = entity('audit_marks', { position: integer, hash: text, markedAt: instant, mac: text, macKey: text })
export type AuditMark = ValuesOf<typeof AUDIT_MARK.fields>

/** Where a walk along the chain is: the last link that it has passed. */
export type ChainPlace = { readonly position: number; readonly hash: string }

/** The first place where the chain is not as it was sealed. */
export type AuditProblem = { readonly eventId: number | undefined; readonly position: number | undefined; readonly reason: string }

export type AuditVerification = {
  /** The first place where the trail is not as it was sealed. Without one, everything is in order. */
  readonly problem: AuditProblem | undefined
  /** The events that were checked. */
  readonly sealed: number
  /** The events that wait to be sealed. */
  readonly unsealed: number
  /** The events that were removed after their retention. */
  readonly pruned: number
  readonly erased: number
  /** The events that were sealed more than an hour after they happened: while no service was running, or after the chain was rebuilt. */
  readonly late: number
  /** The end of the chain. Kept elsewhere, it shows later that nothing was cut off. */
  readonly head: ChainPlace
  /** Whether the chain contains the expected end; undefined if that was removed after its retention, or if none is expected. */
  readonly containsExpected: true | undefined
}

export type VerifyOptions = {
  /** Called with the number of checked events and of all sealed ones. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** An end of the chain that was kept elsewhere. A chain without it was cut off, replaced or begun anew. */
  readonly expected?: ChainPlace | undefined
}

/** Which events to list. The ends of the period belong to it. */
export type EventFilter = {
  readonly kind?: string | undefined
  readonly actor?: number | undefined
  readonly target?: number | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** The place of an event in the list, which is ordered by time and id. */
export type EventPlace = { readonly at: number; readonly id: number }

const CURSOR = /^(\d{1,15})-(\d{1,15})$/

/** The text that leads to the next page of events. */
export function eventCursor({ at, id }: EventPlace): string {
  return `${at}-${id}`
}

export function parseEventCursor(text: string): EventPlace | undefined {
  const [, at, id] = CURSOR.exec(text) ?? []
  return at === undefined ? undefined : { at: Number(at), id: Number(id) }
}
