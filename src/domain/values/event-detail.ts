const LAST_TIME = 8_640_000_000_000_000

/** The time of an event within the calendar. Somebody may have changed it in the database; then the list still has to work. */
export function shownTime(at: number): number {
  return Math.max(-LAST_TIME, Math.min(at, LAST_TIME))
}

/** The details of an event as an object. Somebody may have changed the text in the database; then the list still has to work. */
export function parseEventDetail(text: string | null): Record<string, unknown> | null {
  if (text === null) return null
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : { invalid: text }
  } catch {
    return { invalid: text }
  }
}
