import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Something that is the same for everybody. It is read, and compressed, when the first one asks for it. */
export type Asset = {
  readonly contentType: string
  readonly cacheControl: string
  bytes(encoding: Encoding): Promise<Buffer>
}

type Encoding = 'br' | 'gzip' | 'identity'

const COMPRESSORS: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  // The highest quality takes seconds; this one is smaller than gzip, and as fast.
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
  identity: async (bytes) => bytes,
}

/** Its path names its version, so that a browser need never ask again. */
export const FOREVER = 'public, max-age=31536000, immutable'
/** A browser may keep it, and asks each time whether it is still good. */
export const REVALIDATED = 'no-cache'

export function createAsset(contentType: string, cacheControl: string, read: () => Promise<Buffer>): Asset {
  const kept = new Map<Encoding, Promise<Buffer>>()
  return {
    contentType,
    cacheControl,
    bytes(encoding) {
      const known = kept.get(encoding) ?? read().then(COMPRESSORS[encoding])
      kept.set(encoding, known)
      // A failure is not kept: the next one to ask tries again.
      known.catch(() => kept.delete(encoding))
      return known
    },
  }
}

export async function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): Promise<FastifyReply> {
  const encoding = acceptedEncoding(request.headers['accept-encoding'])
  const varied = reply.getHeader('vary')
  reply
    .type(asset.contentType)
    .header('cache-control', asset.cacheControl)
    .header('vary', varied === undefined ? 'Accept-Encoding' : `${String(varied)}, Accept-Encoding`)
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.send(await asset.bytes(encoding))
}

/** What a browser says; a client that says anything finer gets the bytes as they are. */
function acceptedEncoding(accepted: string | undefined): Encoding {
  const encodings = (accepted ?? '').split(',').map((encoding) => encoding.trim().toLowerCase())
  if (encodings.includes('br')) return 'br'
  return encodings.includes('gzip') ? 'gzip' : 'identity'
}
