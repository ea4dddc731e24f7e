import type { Brand } from '../../../shared/brand.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import type { SiteAssets } from './site-assets.ts'

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
