import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Brand, SchemeColors } from '../../../model/brand.ts'
import { refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { TEXTS } from '../texts/texts.ts'

/** A response that is the same for every client. It is read and compressed on the first request. */
export type Asset = {
  readonly contentType: string
  readonly cacheControl: string
  bytes(encoding: Encoding): Promise<Buffer>
}

/** An asset at a path that contains its version. */
export type VersionedAsset = { readonly path: string; readonly asset: Asset }

export const JAVASCRIPT = 'text/javascript; charset=utf-8'
export const CSS = 'text/css; charset=utf-8'
export const SVG = 'image/svg+xml'

/** A keyhole. Browsers request an icon, and the content security policy of the page blocks the default one. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5eff"/><path fill="#fff" d="M16 6a6 6 0 0 0-3 11.2L11 26h10l-2-8.8A6 6 0 0 0 16 6Z"/></svg>`

type Encoding = 'br' | 'gzip' | 'identity'

const COMPRESSORS: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  // The highest quality takes seconds. This one is as fast as gzip, and its result is smaller.
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
  identity: async (bytes) => bytes,
}

/** For a path that contains its version: browsers never need to request it again. */
export const FOREVER = 'public, max-age=31536000, immutable'
/** A browser may cache it, but revalidates it on each use. */
export const REVALIDATED = 'no-cache'

export function createAsset(contentType: string, cacheControl: string, read: () => Promise<Buffer>): Asset {
  const kept = new Map<Encoding, Promise<Buffer>>()
  return {
    contentType,
    cacheControl,
    bytes(encoding) {
      const known = kept.get(encoding) ?? read().then(COMPRESSORS[encoding])
      kept.set(encoding, known)
      // A failure is not cached: the next request tries again.
      known.catch(() => kept.delete(encoding))
      return known
    },
  }
}

/** The version in the path is a hash of the content. */
export function createTextAsset(name: string, text: string | Buffer, contentType: string): VersionedAsset {
  const version = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { path: `assets/${version}/${name}`, asset: createAsset(contentType, FOREVER, async () => Buffer.from(text)) }
}

export async function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): Promise<FastifyReply> {
  const encoding = acceptedEncoding(request.headers['accept-encoding'])
  const varied = reply.getHeader('vary')
  reply
    .type(asset.contentType)
    // Public files. The explorers, which belong to no origin, may load them whatever CORS_ORIGINS says.
    .header('access-control-allow-origin', '*')
    .header('cache-control', asset.cacheControl)
    .header('vary', varied === undefined ? 'Accept-Encoding' : `${String(varied)}, Accept-Encoding`)
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.send(await asset.bytes(encoding))
}

/** Recognises the forms of Accept-Encoding that browsers send. Any other client gets uncompressed bytes. */
function acceptedEncoding(accepted: string | undefined): Encoding {
  const encodings = (accepted ?? '').split(',').map((encoding) => encoding.trim().toLowerCase())
  if (encodings.includes('br')) return 'br'
  return encodings.includes('gzip') ? 'gzip' : 'identity'
}

export type SiteAssets = Readonly<Record<'style' | 'script' | 'logo', VersionedAsset>>

const STYLES = ['base.css', 'layout.css', 'forms.css', 'tables.css', 'components.css']

/** One stylesheet and one script for all pages, each at a path with its hash. `npm run build` copies their sources next to the code. */
export function createSiteAssets(brand: Brand): SiteAssets {
  const css = STYLES.map(readSource).join('')
  return {
    style: createTextAsset('site.css', compactStyle(css) + brandStyle(brand), CSS),
    script: createTextAsset('site.js', scriptWithTexts(withoutComments(readSource('site.js'))), JAVASCRIPT),
    logo:
      brand.logo?.type === 'png'
        ? createTextAsset('logo.png', brand.logo.bytes, 'image/png')
        : createTextAsset('logo.svg', brand.logo?.bytes ?? ICON, SVG),
  }
}

/** The script is one file for all languages: the page names its own. */
function scriptWithTexts(source: string): string {
  const texts = Object.fromEntries(Object.values(TEXTS).map(({ language, script }) => [language, script]))
  return source.replace('const TEXTS = {}', () => `const TEXTS = ${JSON.stringify(texts)}`)
}

/** Without comments that begin a line, and without indentation. */
function withoutComments(source: string): string {
  return source.replace(/^\s*(?:\/\*.*?\*\/|\/\/.*?$)/gms, '').replace(/\n\s*/g, '\n')
}

/** No text in the stylesheet contains one of these characters. */
function compactStyle(css: string): string {
  return withoutComments(css)
    .replace(/\s*([{};,])\s*/g, '$1')
    .replace(/: /g, ':')
    .replace(/;}/g, '}')
}

/** Serves files of pages, which are not part of the API. */
export function assetRoutes(app: App, assets: Readonly<Record<string, VersionedAsset>>, { hasOneAddress = true } = {}): void {
  const config = { access: 'public', writes: false, hasOneAddress } as const
  const response = { 200: Type.Unknown(), ...(hasOneAddress ? refusals(404) : refusals()) }
  for (const { path, asset } of Object.values(assets))
    app.get(`/${path}`, { config, schema: { hide: true, response } }, (request, reply) => sendAsset(request, reply, asset))
}

/** The brand colour in place of the built-in one. A pressed button moves away from the colour of its text, which stays readable. */
function brandStyle({ colors }: Brand): string {
  if (colors === undefined) return ''
  const variables = ({ fill, onFill, text }: SchemeColors) => `:root{--brand:${fill};--on-brand:${onFill};--accent:${text}}`
  const shade = ({ onFill }: SchemeColors) => `:root{--shade:${onFill === '#ffffff' ? 'black' : 'white'}}`
  const dark = variables(colors.dark) + shade(colors.dark)
  return `${variables(colors.light)}${shade(colors.light)}@media (prefers-color-scheme:dark){${dark}}`
}

function readSource(name: string): string {
  return readFileSync(new URL(`./style/${name}`, import.meta.url), 'utf8')
}
