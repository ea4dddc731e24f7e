/** The languages of the account pages and of the mails. Each has one catalogue. */
export const ALL_LANGUAGES = ['en', 'de', 'fr', 'es'] as const
export type Language = (typeof ALL_LANGUAGES)[number]
/** Those that the settings allow. The first is for everybody whose language is not among them. */
export type Languages = readonly [Language, ...Language[]]

export function isLanguage(text: string): text is Language {
  return (ALL_LANGUAGES as readonly string[]).includes(text)
}

/**
 * The first of the languages that a browser prefers, by its Accept-Language header (RFC 9110, 12.5.4), or the first of all. `de-AT` is German.
 * A language with the quality 0 is not wanted.
 */
export function preferredLanguage(header: string | undefined, languages: Languages): Language {
  const ranges = (header ?? '')
    .slice(0, MAX_HEADER_LENGTH)
    .toLowerCase()
    .split(',')
    .map((range, place) => {
      const [, tag = '', quality = '1'] = RANGE.exec(range.trim()) ?? []
      return { tag, quality: Number(quality), place }
    })
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality || one.place - other.place)
  const found = ranges.find(({ tag }) => tag === '*' || languages.some((language) => language === tag))
  return languages.find((language) => language === found?.tag) ?? languages[0]
}

const MAX_HEADER_LENGTH = 500
// The first part of a tag, and its quality.
const RANGE = /^(\*|[a-z]{2,3})(?:-[a-z0-9-]+)?(?:\s*;\s*q=([01](?:\.\d{0,3})?))?$/
