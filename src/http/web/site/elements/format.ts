import type { Limit, LimitUnit } from '../../../../domain/values/plans.ts'
import type { Language } from '../../../../model/language.ts'
import { type Html, html, renderHtml } from '../../../../shared/html.ts'
import { once } from '../../../../shared/lazily.ts'

/** Dates of English pages have the day first. */
const DATE_LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de', fr: 'fr', es: 'es' }
const NUMBER_LOCALES: Readonly<Record<Language, string>> = { en: 'en-US', de: 'de', fr: 'fr', es: 'es' }
const UNITS: readonly (readonly [seconds: number, name: 'day' | 'hour' | 'minute'])[] = [
  [24 * 60 * 60, 'day'],
  [60 * 60, 'hour'],
  [60, 'minute'],
]
const MAX_RELATIVE_DAYS = 30

/** What `Intl` does not know. */
type FormatWords = {
  readonly justNow: string
  readonly soon: string
  readonly requests: { readonly one: string; readonly other: (count: string) => string }
  /** Such as `a minute`. */
  readonly per: Readonly<Record<LimitUnit, string>>
}

/** Dates, times and numbers in one language. Times are in UTC: the server does not know where its reader is. */
export type Format = ReturnType<typeof createFormat>

export function createFormat(language: Language, { justNow, soon, requests, per }: FormatWords) {
  // Made with the first page in the language: most services need few of them.
  const intl = once(() => intlOf(language))

  /** `16 Nov 2026` */
  function dateText(at: number): string {
    const text = intl().date.format(at)
    return language === 'en' ? text.replace('Sept', 'Sep') : text
  }

  /** `12,345` */
  const numberOf = (count: number) => intl().number.format(count)

  /** `09:30` */
  const clockText = (at: number) => new Date(at).toISOString().slice(11, 16)

  const exactText = (at: number) => `${dateText(at)}, ${clockText(at)} UTC`

  function timeElement(at: number, text: string): Html {
    return html`<time datetime="${new Date(at).toISOString()}" title="${exactText(at)}">${text}</time>`
  }

  /** `16 Nov 2026`, with the exact time in its title. */
  const dateOf = (at: number) => timeElement(at, dateText(at))

  /** What is less than a minute away has none. A wait of nearly seven days is one of seven; an age counts whole units. */
  function relativeText(seconds: number): string | undefined {
    const [length, unit] = UNITS.find(([least]) => Math.abs(seconds) >= least) ?? []
    if (length === undefined || unit === undefined) return undefined
    const count = seconds / length
    return intl().relative.format(seconds > 0 ? Math.round(count) : Math.trunc(count), unit)
  }

  return {
    dateText,
    clockText,
    dateOf,
    /** `16 Nov 2026, 09:30 UTC`. Where that is too long for a line, it breaks after the comma. */
    timeOf: (at: number) => timeElement(at, exactText(at).replace(' UTC', '\u00a0UTC')),
    /** `5 minutes ago` or, after a month, the date. */
    ageOf(at: number, now: number): Html {
      const seconds = Math.max(0, (now - at) / 1000)
      return seconds > MAX_RELATIVE_DAYS * 24 * 60 * 60 ? dateOf(at) : timeElement(at, relativeText(-seconds) ?? justNow)
    },
    /** `in 5 minutes`, for something that happens soon. */
    waitOf: (at: number, now: number) => timeElement(at, relativeText(Math.max(0, (at - now) / 1000)) ?? soon),
    /** `16 Nov, 09:30`. */
    momentText: (at: number) => `${dateText(at).slice(0, -5)}, ${clockText(at)}`,
    numberOf,
    /** The form of a sentence for a number. */
    plural: (count: number, forms: { readonly one: string; readonly other: string }) =>
      intl().plural.select(count) === 'one' ? forms.one : forms.other,
    /** `60 requests a minute and 1,000 a day`. */
    limitsText([first, ...others]: readonly [Limit, ...Limit[]]): string {
      const counted = intl().plural.select(first.count) === 'one' ? requests.one : requests.other(numberOf(first.count))
      return intl().list.format([`${counted} ${per[first.unit]}`, ...others.map(({ unit, count }) => `${numberOf(count)} ${per[unit]}`)])
    },
  }
}

function intlOf(language: Language) {
  const [dates, numbers] = [DATE_LOCALES[language], NUMBER_LOCALES[language]]
  return {
    date: new Intl.DateTimeFormat(dates, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }),
    relative: new Intl.RelativeTimeFormat(dates),
    number: new Intl.NumberFormat(numbers),
    plural: new Intl.PluralRules(language),
    list: new Intl.ListFormat(dates),
  }
}

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
