import { type Config, ConfigError } from '../config/load.ts'
import { openBranding } from '../process/branding.ts'
import { counted } from '../shared/counted.ts'
import { type Finding, failure, ok } from './finding.ts'

const ADVICE = 'Fix it in this file: the service does not start with it. docs/branding.md lists files and placeholders.'

/** Reads the logo and the mail templates as the start does. Without these settings there is nothing to report. */
export async function checkBranding(config: Config): Promise<readonly Finding[]> {
  const { brandColor, brandLogo, templatesDir } = config
  if (brandColor === undefined && brandLogo === undefined && templatesDir === undefined) return []
  try {
    const { templates } = await openBranding(config)
    const parts = Object.values(templates).flatMap((template) => Object.keys(template)).length
    return [ok('branding', templatesDir === undefined ? 'valid' : `valid; ${counted(parts, 'text')} of mails in ${templatesDir}`)]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.errors.map((line) => failure('branding', line, ADVICE))
  }
}
