import type { Language } from '../../../model/language.ts'
import { de } from './de.ts'
import { en, type Texts } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'

export type { Texts }

declare module '../../pipeline/declarations.ts' {
  interface PageTexts extends Texts {}
}

/** The catalogues, by language. */
export const TEXTS: Readonly<Record<Language, Texts>> = { en, de, fr, es }

/** The console is in English, and so is what it shares with the account pages. */
export const CONSOLE_TEXTS: Texts = en

/** A text that is declared before the language of its reader is known. Those of the console are in English. */
export type Label = string | ((texts: Texts) => string)

export function labelText(label: Label, texts: Texts): string {
  return typeof label === 'string' ? label : label(texts)
}
