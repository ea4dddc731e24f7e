import type { Language } from '../../../model/language.ts'
import { DE } from './de.ts'
import { EN, type MailTexts } from './en.ts'
import { ES } from './es.ts'
import { FR } from './fr.ts'

export const TEXTS: Readonly<Record<Language, MailTexts>> = { en: EN, de: DE, fr: FR, es: ES }
