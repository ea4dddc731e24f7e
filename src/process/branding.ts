import { type Config, ConfigError } from '../config/load.ts'
import { NO_TEMPLATES, openTemplates, type Templates } from '../delivery/mail/open-templates.ts'
import { type Brand, brandColors, type Logo } from '../model/brand.ts'
import { explainUnreadable } from '../shared/errors.ts'
import { readLogo } from './brand-logo.ts'

export type Branding = { readonly brand: Brand; readonly templates: Templates }

/** Reads the files of BRAND_LOGO and TEMPLATES_DIR; throws ConfigError with all errors. */
export async function openBranding(config: Pick<Config, 'brandColor' | 'brandLogo' | 'templatesDir'>): Promise<Branding> {
  const errors: string[] = []
  const logo = await openLogo(config.brandLogo, errors)
  const templates = await openMailTemplates(config.templatesDir, logo?.type === 'png', errors)
  if (errors.length > 0) throw new ConfigError(errors)
  return { brand: { colors: config.brandColor === undefined ? undefined : brandColors(config.brandColor), logo }, templates }
}

async function openLogo(file: string | undefined, errors: string[]): Promise<Logo | undefined> {
  if (file === undefined) return undefined
  try {
    return await readLogo(file)
  } catch (error) {
    errors.push(`BRAND_LOGO: ${file} ${explainUnreadable(error)}`)
    return undefined
  }
}

async function openMailTemplates(folder: string | undefined, hasLogo: boolean, errors: string[]): Promise<Templates> {
  if (folder === undefined) return NO_TEMPLATES
  const opened = await openTemplates(folder, { hasLogo })
  errors.push(...opened.errors.map((error) => `TEMPLATES_DIR: ${error}`))
  return opened.templates
}
