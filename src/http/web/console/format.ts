import { never } from '../site/elements/cards.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'

/** Dates, times and numbers of the console, which is in English. */
export const { ageOf, dateOf, dateText, limitsText, momentText, numberOf, timeOf, waitOf } = CONSOLE_TEXTS.format

export const NEVER = never(CONSOLE_TEXTS)
