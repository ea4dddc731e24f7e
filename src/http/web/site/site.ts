import type { Brand } from '../../../model/brand.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import { PAGE_SEGMENT } from '../../pipeline/reachability.ts'
import type { SiteAssets } from './assets.ts'

/** What all pages of the console and the account pages share. */
export type Site = {
  readonly apiTitle: string
  /** The path of BASE_URL, without a slash at its end: a proxy may serve the pages below a path. */
  readonly root: string
  /** Whether BASE_URL is https: then the cookie is sent over encrypted connections only. */
  readonly isSecure: boolean
  readonly isEnabled: Readonly<Record<PageArea, boolean>>
  readonly assets: SiteAssets
  /** Whether the logo is that of BRAND_LOGO. */
  readonly hasOwnLogo: boolean
  /** Where success pages lead on to. */
  readonly frontendUrl: string | undefined
  /** Whether users may delete their own accounts. */
  readonly hasSelfDeletion: boolean
  readonly now: () => number
}

export type SiteOptions = {
  readonly apiTitle: string
  readonly baseUrl: string
  readonly consoleEnabled: boolean
  readonly accountPagesEnabled: boolean
  readonly frontendUrl: string | undefined
  readonly selfDeletion: boolean
  readonly brand: Brand
}

export function createSite(options: SiteOptions, assets: SiteAssets, now: () => number): Site {
  const { pathname, protocol } = new URL(options.baseUrl)
  return {
    apiTitle: options.apiTitle,
    root: pathname.replace(/\/$/, ''),
    isSecure: protocol === 'https:',
    isEnabled: { console: options.consoleEnabled, account: options.accountPagesEnabled },
    assets,
    hasOwnLogo: options.brand.logo !== undefined,
    frontendUrl: options.frontendUrl,
    hasSelfDeletion: options.selfDeletion,
    now,
  }
}

// Only pages of this service: a fixed first segment, then plain characters. No host, no backslash, no control character.
const OWN_PAGE = new RegExp(`^/(?:console|account)(?:/(?:${PAGE_SEGMENT})?)*(?:\\?[\\w\\-.~%&=+@:/!*'(),;]*)?$`)
const MAX_LENGTH = 1000

/** Where to go after signing in: the page that was requested, if it is a page of this service, otherwise the first page of the area. */
export function returnPath(requested: string | undefined, area: PageArea): string {
  const start = `/${area}/`
  if (requested === undefined || requested.length > MAX_LENGTH || !OWN_PAGE.test(requested)) return start
  const [path = ''] = requested.split('?')
  // Signing in must not lead back to signing in.
  return path.includes('//') || /\/sign-(?:in|out)$/.test(path) ? start : requested
}

/** The sign-in page that leads back to the requested page. */
export function signInPath(area: PageArea, requested: string): string {
  const next = returnPath(requested, area)
  return next === `/${area}/` ? `/${area}/sign-in` : `/${area}/sign-in?next=${encodeURIComponent(next)}`
}

export const PASSWORD_HINT = 'At least 8 characters. A few random words make a strong password.'

/** The way on to the product, where the settings name its address. */
export function toFrontend({ frontendUrl, apiTitle }: Site): Html | undefined {
  return frontendUrl === undefined ? undefined : html`<a class="button primary" href="${frontendUrl}">Continue to ${apiTitle}</a>`
}
