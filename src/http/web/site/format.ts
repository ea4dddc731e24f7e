import { type Html, html } from '../../../shared/html.ts'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [24 * 60 * 60, 'day'],
  [60 * 60, 'hour'],
  [60, 'minute'],
]
const MAX_RELATIVE_DAYS = 30

/** `16 Nov 2026`, with the exact time in its title. Times are in UTC: the server does not know where its reader is. */
export function dateOf(at: number): Html {
  return timeElement(at, dateText(at))
}

/** `16 Nov 2026, 09:30 UTC` */
export function timeOf(at: number): Html {
  return timeElement(at, exactText(at))
}

/** `5 minutes ago` or, after a month, the date. */
export function ageOf(at: number, now: number): Html {
  const seconds = Math.max(0, (now - at) / 1000)
  if (seconds > MAX_RELATIVE_DAYS * 24 * 60 * 60) return dateOf(at)
  const [length, name] = UNITS.find(([unit]) => seconds >= unit) ?? []
  if (length === undefined) return timeElement(at, 'just now')
  const count = Math.floor(seconds / length)
  return timeElement(at, `${count} ${name}${count === 1 ? '' : 's'} ago`)
}

/** `12,345` */
export function numberOf(count: number): string {
  return count.toLocaleString('en-US')
}

function timeElement(at: number, text: string): Html {
  return html`<time datetime="${new Date(at).toISOString()}" title="${exactText(at)}">${text}</time>`
}

function dateText(at: number): string {
  const date = new Date(at)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

function exactText(at: number): string {
  return `${dateText(at)}, ${new Date(at).toISOString().slice(11, 16)} UTC`
}
