import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Fires when nobody waits for the work of a request any more: the client has gone, or was told at the deadline to try again. */
export function nobodyWaits({ raw, request }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  request.work = controller
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
