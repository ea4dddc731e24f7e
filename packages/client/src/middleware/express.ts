import type { HeaderSource } from '../verifiers/identity.ts'
import { createGuard, type GuardOptions, type RequestIdentity } from './guard.ts'

declare global {
  // The types of Express are extended in this namespace.
  namespace Express {
    interface Request {
      /** Who is calling, behind `latchkey()`. */
      identity: RequestIdentity
    }
  }
}

type Request = { readonly headers: HeaderSource; identity: RequestIdentity }
type Response = {
  readonly headersSent: boolean
  writeHead(status: number, headers: Record<string, string>): { end(text: string): unknown }
}
type Next = (error?: unknown) => void

/** Middleware for Express: `app.get('/notes', latchkey({ url, scope: 'notes:read' }), handler)`. */
export function latchkey(options: GuardOptions): (request: Request, response: Response, next: Next) => void {
  const guard = createGuard(options)
  return (request, response, next) => {
    guard(request.headers).then((result) => {
      if ('refusal' in result) {
        // Another middleware, such as a timeout, has answered meanwhile.
        if (response.headersSent) return
        const { status, headers, body } = result.refusal
        response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body))
        return
      }
      request.identity = result.identity
      next()
    }, next)
  }
}
