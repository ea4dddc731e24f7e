import type { FastifyRequest } from 'fastify'
import { sendNotFound } from '../answers/errors.ts'
import type { Hook } from './steps.ts'

// Plain characters. A segment may contain single dots and @, as the name of a kept mail does, but does not begin or end with them: none is
// `.` or `..`.
const WORD = /(?:[\w+-]|%2B)+/.source
/** A segment in the path of a page, as the service writes it. */
export const PAGE_SEGMENT = `${WORD}(?:(?:\\.|@|%40)${WORD})*`
/** The beginning of a target that is a whole URL (RFC 9112, 3.2.2). */
export const TARGET_ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Lets a route answer at one address only (404): its path as it is declared, with or without a trailing slash. The router also finds it
 * under /api/v1 and in percent-encoded spellings, where the rule of a proxy for this path does not apply.
 */
export function refuseAliases(url: string): Hook {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? PAGE_SEGMENT : RegExp.escape(segment)))
  const address = new RegExp(`^${segments.join('/').replace(/\/$/, '')}/?$`)
  return (request, reply, done) => {
    if (address.test(requestedPath(request))) done()
    else sendNotFound(request, reply)
  }
}

/** The path as the client has sent it. */
function requestedPath({ originalUrl }: FastifyRequest): string {
  return originalUrl.replace(TARGET_ORIGIN, '').split('?', 1)[0] ?? ''
}
