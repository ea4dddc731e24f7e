import type { BrandColors } from './brand-colors.ts'
import type { Logo } from './brand-logo.ts'

/** What the settings say about the appearance of pages and mails. */
export type Brand = { readonly colors: BrandColors | undefined; readonly logo: Logo | undefined }

export const NO_BRAND: Brand = { colors: undefined, logo: undefined }
