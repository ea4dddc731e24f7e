/** The languages of the account pages and of the mails. Each has one catalogue. */
export const ALL_LANGUAGES = ['en', 'de', 'fr', 'es'] as const
export type Language = (typeof ALL_LANGUAGES)[number]
/** Those that the settings allow. The first is for everybody whose language is not among them. */
export type Languages = readonly [Language, ...Language[]]

export function isLanguage(text: string): text is Language {
  return (ALL_LANGUAGES as readonly string[]).includes(text)
}
