import type { Limit, LimitUnit } from '../../../../domain/values/plans.ts'
import { type Html, html, renderHtml } from '../../../../shared/html.ts'
import { counted } from '../../../../shared/text.ts'

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

/** `16 Nov 2026, 09:30 UTC`. Where that is too long for a line, it breaks after the comma. */
export function timeOf(at: number): Html {
  return timeElement(at, exactText(at).replace(' UTC', '\u00a0UTC'))
}

/** `5 minutes ago` or, after a month, the date. */
export function ageOf(at: number, now: number): Html {
  const seconds = Math.max(0, (now - at) / 1000)
  if (seconds > MAX_RELATIVE_DAYS * 24 * 60 * 60) return dateOf(at)
  const length = lengthText(seconds)
  return timeElement(at, length === undefined ? 'just now' : `${length} ago`)
}

/** `in 5 minutes`, for something that happens soon. */
export function waitOf(at: number, now: number): Html {
  return timeElement(at, `in ${lengthText((at - now) / 1000) ?? 'a moment'}`)
}

function lengthText(seconds: number): string | undefined {
  const [length, name = ''] = UNITS.find(([unit]) => seconds >= unit) ?? []
  if (length === undefined) return undefined
  return counted(Math.floor(seconds / length), name)
}

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bLinux\b/, 'Linux'],
]

/** The beginning of a text in a list, where each row may take only so many bytes of the page. */
export function shortText(text: string, maxBytes = 150): string {
  let length = 0
  let bytes = 0
  for (const character of text) {
    bytes += Buffer.byteLength(renderHtml(html`${character}`))
    if (bytes > maxBytes) return `${text.slice(0, length).trimEnd()}…`
    length += character.length
  }
  return text
}

/** `Firefox on Linux`, as far as a user agent says so, with all of it in its title. It is what the client claims, no more. */
export function clientOf(userAgent: string | undefined): Html {
  if (userAgent === undefined) return html`Unknown client`
  const nameIn = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)]
  if (browser === undefined) return html`${shortText(userAgent)}`
  return html`<span title="${shortText(userAgent)}">${browser}${system === undefined ? '' : ` on ${system}`}</span>`
}

/** `16 Nov, 09:30`, in UTC. */
export function momentText(at: number): string {
  return `${dateText(at).slice(0, -5)}, ${new Date(at).toISOString().slice(11, 16)}`
}

/** `09:30`, in UTC. */
export function clockText(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** `12,345` */
export function numberOf(count: number): string {
  return count.toLocaleString('en-US')
}

function timeElement(at: number, text: string): Html {
  return html`<time datetime="${new Date(at).toISOString()}" title="${exactText(at)}">${text}</time>`
}

/** `16 Nov 2026` */
export function dateText(at: number): string {
  const date = new Date(at)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

function exactText(at: number): string {
  return `${dateText(at)}, ${new Date(at).toISOString().slice(11, 16)} UTC`
}

const LIMIT_PERIODS: Readonly<Record<LimitUnit, string>> = { s: 'a second', m: 'a minute', h: 'an hour', d: 'a day' }

/** `60 requests a minute and 1,000 a day`. */
export function limitsText([first, ...others]: readonly [Limit, ...Limit[]]): string {
  const rate = ({ count, unit }: Limit, what = '') => `${numberOf(count)}${what} ${LIMIT_PERIODS[unit]}`
  return [rate(first, first.count === 1 ? ' request' : ' requests'), ...others.map((limit) => rate(limit))].join(' and ')
}
