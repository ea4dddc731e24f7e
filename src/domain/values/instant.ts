// ISO 8601 with an offset: 2026-01-31T09:30:00Z, 2026-01-31T10:30+01:00.
const INSTANT = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)$/i
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const MINUTE_MS = 60_000

/** Reads a date with a time and an offset, in milliseconds since 1970; undefined if the text is not one, or no calendar has it. */
export function parseInstant(text: string): number | undefined {
  const match = INSTANT.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second = '00', fraction = '', offset = ''] = match
  const offsetMinutes = parseOffset(offset)
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  // Date.UTC turns 30 February into 2 March, 24:00 into the next day, and the year 26 into 1926.
  const isInCalendar = new Date(local).toISOString() === `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  if (offsetMinutes === undefined || !isInCalendar) return undefined
  const instant = local + Number(fraction.slice(0, 3).padEnd(3, '0')) - offsetMinutes * MINUTE_MS
  return instant <= LAST_INSTANT ? instant : undefined
}

function parseOffset(offset: string): number | undefined {
  if (offset.toUpperCase() === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
