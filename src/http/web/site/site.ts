import type { Brand } from '../../../model/brand.ts'
import { ALL_LANGUAGES, type Language, type Languages } from '../../../model/language.ts'
import type { Provider } from '../../../model/provider.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import { PAGE_SEGMENT } from '../../pipeline/reachability.ts'
import { Type } from '../../validation/schema.ts'
import { createTextChoice, type Texts } from '../texts/texts.ts'
import type { SiteAssets } from './assets.ts'

type SiteOptions = {
  readonly apiTitle: string
  readonly baseUrl: string
  readonly consoleEnabled: boolean
  readonly accountPagesEnabled: boolean
  readonly frontendUrl: string | undefined
  readonly returnOrigins: readonly string[] | undefined
  readonly selfDeletion: boolean
  readonly emailSignIn: boolean
  readonly securityNotices: boolean
  readonly providers: readonly Provider[]
  readonly brand: Brand
  readonly languages?: Languages
  readonly languageOfAccount?: (userId: number) => Promise<Language | undefined>
}

/** What all pages of the console and the account pages share. */
export type Site = ReturnType<typeof createSite>

export function createSite(options: SiteOptions, assets: SiteAssets, now: () => number) {
  const {
    apiTitle,
    frontendUrl,
    returnOrigins = [],
    selfDeletion: hasSelfDeletion,
    emailSignIn: hasEmailSignIn,
    securityNotices: hasNotices,
    brand,
  } = options
  const { languages = ALL_LANGUAGES, languageOfAccount = async () => undefined } = options
  const { pathname, protocol } = new URL(options.baseUrl)
  const isEnabled: Readonly<Record<PageArea, boolean>> = { console: options.consoleEnabled, account: options.accountPagesEnabled }
  return {
    apiTitle,
    // Without a slash at its end. A proxy may serve the pages below a path.
    root: pathname.replace(/\/$/, ''),
    // With https, the cookie is sent over encrypted connections only.
    isSecure: protocol === 'https:',
    isEnabled,
    assets,
    languages,
    texts: createTextChoice({ languages, languageOfAccount }),
    hasOwnLogo: brand.logo !== undefined,
    frontendUrl,
    /** The origins of the product, to which the pages lead people who have signed in. */
    returnOrigins: new Set<string>([...(frontendUrl === undefined ? [] : [new URL(frontendUrl).origin]), ...returnOrigins]),
    hasSelfDeletion,
    hasEmailSignIn,
    /** Whether the owner of an account gets mails about its security. */
    hasNotices,
    // Without what the settings keep secret about them.
    providers: options.providers.map(({ name, label }): Provider => ({ name, label })),
    now,
  } as const
}

// Only pages of this service: a fixed first segment, then plain characters. No host, no backslash, no control character.
const OWN_PAGE = new RegExp(`^/(?:console|account)(?:/(?:${PAGE_SEGMENT})?)*(?:\\?[\\w\\-.~%&=+@:/!*'(),;]*)?$`)
const MAX_LENGTH = 1000
/** The page that hands people to the product. */
export const HAND_OFF_PATH = '/account/hand-off'
/** Its parameters are longer than those of other pages. */
const NEXT_MAX_LENGTH = 4000
/** The page that signing in leads to, in a query and in a form. */
export const Next = Type.Optional(Type.String({ maxLength: NEXT_MAX_LENGTH }))

/** Where to go after signing in: the page that was requested, if it is a page of this service, otherwise the first page of the area. */
export function returnPath(requested: string | undefined, area: PageArea): string {
  const start = `/${area}/`
  const maxLength = requested?.startsWith(`${HAND_OFF_PATH}?`) ? NEXT_MAX_LENGTH : MAX_LENGTH
  if (requested === undefined || requested.length > maxLength || !OWN_PAGE.test(requested)) return start
  const [path = ''] = requested.split('?')
  // Signing in must not lead back to signing in.
  return path.includes('//') || /\/sign-(?:in|out)(?:\/|$)/.test(path) ? start : requested
}

/** The area of the page that follows a sign-in. Its session is the one to open. */
export function areaOf(path: string): PageArea {
  return /^\/console(?:[/?]|$)/.test(path) ? 'console' : 'account'
}

/** The page that was requested; undefined for the first page of the area, which a link need not name. */
export function requestedPath(requested: string | undefined, area: PageArea): string | undefined {
  const next = returnPath(requested, area)
  return next === `/${area}/` ? undefined : next
}

/** The sign-in page that leads back to the requested page. */
export function signInPath(area: PageArea, requested: string | undefined): string {
  return withNext(area, '/sign-in', requested)
}

/** A page of an area, from which signing in leads to the requested page. */
export function withNext(area: PageArea, path: string, requested: string | undefined): string {
  const next = requestedPath(requested, area)
  return next === undefined ? `/${area}${path}` : `/${area}${path}?next=${encodeURIComponent(next)}`
}

/** Leads a session without a second factor to what it needs, and from there to the requested page. */
export function factorPath(area: PageArea, requested: string): string {
  return `/${area}/second-factor?next=${encodeURIComponent(returnPath(requested, area))}`
}

/** The way on to the product, where the settings name its address. */
export function toFrontend({ frontendUrl, apiTitle }: Site, { navigation }: Texts): Html | undefined {
  if (frontendUrl === undefined) return undefined
  return html`<a class="button primary" href="${frontendUrl}">${navigation.toProduct(apiTitle)}</a>`
}
