import type { FastifyReply, FastifyRequest } from 'fastify'

/** Fires when the client goes away before it has its answer. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Browsers name text/html in Accept; programs do not. */
export function wantsHtml({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}
