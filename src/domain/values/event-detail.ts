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
