import type { EventPlace } from '../../model/audit.ts'

const CURSOR = /^(\d{1,15})-(\d{1,15})$/

/** The text that leads to the next page of events. */
export function eventCursor({ at, id }: EventPlace): string {
  return `${at}-${id}`
}

export function parseEventCursor(text: string): EventPlace | undefined {
  const [, at, id] = CURSOR.exec(text) ?? []
  return at === undefined ? undefined : { at: Number(at), id: Number(id) }
}
