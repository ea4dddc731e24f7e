import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Fires when the client goes away before it has its answer. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Where a request comes from, for the log. What a proxy calls an address and is none is not repeated: the proxy's own stands in. */
export function clientAddress({ ip, socket }: FastifyRequest): string | undefined {
  return isIP(ip) === 0 ? socket.remoteAddress : ip
}

/** Browsers name text/html in Accept; programs do not. */
export function wantsHtml({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}
