import type { StoredEvent } from './event.ts'

/** An HMAC and the name of its key. */
export type Seal = { readonly mac: string; readonly macKey: string }

/** An event as the process that caused it has written it. The salt is null once address and details are erased. */
export type WrittenEvent = StoredEvent & Seal & { readonly salt: string | null }

/** A link of the hash chain, without its event. */
export type EventSeal = Seal & {
  readonly position: number
  readonly eventId: number
  readonly sealedAt: number
  readonly digest: string
  readonly hash: string
}

/** Where the chain begins or ends. */
export type AuditMark = Seal & { readonly position: number; readonly hash: string; readonly markedAt: number }

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
