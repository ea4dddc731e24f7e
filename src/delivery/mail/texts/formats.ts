import type { Language } from '../../../model/language.ts'
import { once } from '../../../shared/lazily.ts'

/** What the texts of a mail name: the title of the service, and the address that the mail goes to. */
export type Names = { readonly title: string; readonly email: string }
/** What a notice names besides: when the change was made, in words. */
export type NamesAndTime = Names & { readonly time: string }
/** What to do, and what else to do. */
export type Notes = readonly [string, string]

type SignInTexts = {
  /** The end of the subject, which follows the heading. */
  readonly account: (names: Names) => string
  readonly notes: Notes
}
type SignInChange = { readonly heading: string; readonly intro: (names: NamesAndTime) => string; readonly advice?: string }

/** Writes notices about what opens an account. They differ in the heading, the intro and, in one case, the second note. */
export function signInChange({ account, notes: [fine, intruder] }: SignInTexts) {
  return ({ heading, intro, advice = intruder }: SignInChange) => ({
    subject: (names: Names) => heading + account(names),
    heading,
    intro,
    notes: (_: Names): Notes => [fine, advice],
  })
}

const HOUR_MINUTES = 60
const DAY_MINUTES = 24 * HOUR_MINUTES

/** Writes a number of minutes, such as `24 hours`: as days from two days on. */
export function durationIn(language: Language): (minutes: number) => string {
  const write = (unit: 'minute' | 'hour' | 'day', count: number) =>
    new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
  return (minutes) => {
    if (minutes % DAY_MINUTES === 0 && minutes > DAY_MINUTES) return write('day', minutes / DAY_MINUTES)
    return minutes % HOUR_MINUTES === 0 ? write('hour', minutes / HOUR_MINUTES) : write('minute', minutes)
  }
}

/** Writes a time in words, such as `2. Januar 2026 um 03:04 UTC`. */
export function timeIn(language: Language): (at: number) => string {
  return (at) =>
    new Intl.DateTimeFormat(language, {
      year: 'numeric',
      month: 'long',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZone: 'UTC',
      timeZoneName: 'short',
    }).format(at)
}

/** Chooses the text for a number. */
export function pluralIn(language: Language): (count: number, texts: { readonly one: string; readonly other: string }) => string {
  const rules = once(() => new Intl.PluralRules(language))
  return (count, { one, other }) => (rules().select(count) === 'one' ? one : other)
}
