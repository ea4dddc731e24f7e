import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Language, type Languages, preferredLanguage } from '../../../model/language.ts'
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

declare module 'fastify' {
  interface FastifyRequest {
    /** The texts in the language of the reader. Set before a page is made. */
    texts: Texts
  }
}

type LanguageOptions = {
  /** Those that the settings allow. */
  readonly languages: Languages
  /** The language that somebody has chosen for their account. */
  readonly languageOfAccount: (userId: number) => Promise<Language | undefined>
}

/** Decides in which language a page is. The console is in English, whoever reads it. */
export function createTextChoice({ languages, languageOfAccount }: LanguageOptions) {
  const byBrowser = ({ headers }: FastifyRequest) => TEXTS[preferredLanguage(headers['accept-language'], languages)]

  async function byAccount({ caller }: FastifyRequest): Promise<Texts | undefined> {
    if (!caller || languages.length === 1) return undefined
    // During an outage, the error page has the language of the browser.
    const language = await languageOfAccount(caller.user.id).catch(() => undefined)
    return language && languages.includes(language) ? TEXTS[language] : undefined
  }

  return {
    /** For a page of an area: in the language of the account, if the caller has chosen one, otherwise in that of the browser. */
    async forPage(request: FastifyRequest): Promise<Texts> {
      const isConsole = request.routeOptions.config.page === 'console'
      request.texts ??= isConsole ? CONSOLE_TEXTS : ((await byAccount(request)) ?? byBrowser(request))
      return request.texts
    },
    /** For a page that belongs to no area, and whose reader is not known. */
    forVisitor(request: FastifyRequest): Texts {
      request.texts ??= byBrowser(request)
      return request.texts
    },
    /** The headers that name the language of a page and, unless all readers get the same one, what it depends on. */
    describe(reply: FastifyReply): FastifyReply {
      const { texts, routeOptions } = reply.request
      reply.header('content-language', texts.language)
      if (routeOptions.config.page === 'console' || languages.length === 1) return reply
      return reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept-Language'].flat().join(', '))
    },
  }
}
