import { readFile, stat } from 'node:fs/promises'
import { type Config, ConfigError } from '../config/load.ts'
import { NO_TEMPLATES, openTemplates, type Templates } from '../delivery/mail/template.ts'
import { type Brand, brandColors, type Logo } from '../model/brand.ts'
import { explainUnreadable } from '../shared/errors.ts'

/** Reads the files of BRAND_LOGO and TEMPLATES_DIR; throws ConfigError with all errors. */
export async function openBranding(
  config: Pick<Config, 'brandColor' | 'brandLogo' | 'templatesDir'>,
): Promise<{ readonly brand: Brand; readonly templates: Templates }> {
  const errors: string[] = []
  const logo = await openLogo(config.brandLogo, errors)
  const templates = await openMailTemplates(config.templatesDir, logo?.type === 'png', errors)
  if (errors.length > 0) throw new ConfigError(errors)
  return { brand: { colors: config.brandColor === undefined ? undefined : brandColors(config.brandColor), logo }, templates }
}

async function openLogo(file: string | undefined, errors: string[]): Promise<Logo | undefined> {
  if (file === undefined) return undefined
  return readLogo(file).catch((error: unknown) => void errors.push(`BRAND_LOGO: ${file} ${explainUnreadable(error)}`))
}

async function openMailTemplates(folder: string | undefined, hasLogo: boolean, errors: string[]): Promise<Templates> {
  if (folder === undefined) return NO_TEMPLATES
  const opened = await openTemplates(folder, { hasLogo })
  errors.push(...opened.errors.map((error) => `TEMPLATES_DIR: ${error}`))
  return opened.templates
}

// Every mail contains the logo, and every first visit loads it.
const MAX_BYTES = 65_536
const MAX_PIXELS = 4096
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const FIRST_CHUNK = 'IHDR'
// What may come before the root element: an XML declaration, comments and a document type.
const SVG_ROOT = /^\s*(?:<\?[\s\S]*?\?>\s*|<!--[\s\S]*?-->\s*|<!DOCTYPE\s+svg\b[^>[]*>\s*)*<svg\b([^>]*)>/i
const SVG_NAMESPACE = /\sxmlns\s*=\s*["']http:\/\/www\.w3\.org\/2000\/svg["']/

/** Reads the logo; throws an error that says what is wrong with the file. */
export async function readLogo(file: string): Promise<Logo> {
  const found = await stat(file)
  if (!found.isFile()) throw new Error('should be a file')
  if (found.size > MAX_BYTES) throw new Error(`should have at most ${MAX_BYTES / 1024} KB, has ${Math.ceil(found.size / 1024)} KB`)
  const bytes = await readFile(file)
  return bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE) ? pngOf(bytes) : svgOf(bytes)
}

function pngOf(bytes: Buffer): Logo {
  if (bytes.length < 33 || bytes.toString('latin1', 12, 16) !== FIRST_CHUNK) throw new Error('is a damaged PNG file')
  const width = bytes.readUInt32BE(16)
  const height = bytes.readUInt32BE(20)
  if (width < 1 || height < 1 || width > MAX_PIXELS || height > MAX_PIXELS)
    throw new Error(`should have 1 to ${MAX_PIXELS} pixels on each side, has ${width} × ${height}`)
  return { type: 'png', bytes, width, height }
}

/** Scripts in an SVG file are not looked for: it is shown as an image and sent with a policy that forbids them. */
function svgOf(bytes: Buffer): Logo {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('is neither a PNG file nor an SVG file')
  }
  const [, attributes] = SVG_ROOT.exec(text) ?? []
  if (attributes === undefined) throw new Error('is neither a PNG file nor an SVG file')
  if (!SVG_NAMESPACE.test(attributes))
    throw new Error('should have xmlns="http://www.w3.org/2000/svg" in its svg element; browsers do not show it otherwise')
  return { type: 'svg', bytes }
}
