import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

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
