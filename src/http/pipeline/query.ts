import type { FastifyReply, FastifyRequest } from 'fastify'
import { compileParser, TOO_MANY_PARAMETERS } from '../validation/parsing.ts'
import { MAX_PARAMETERS } from '../validation/validation-error.ts'

const REPEATED: readonly string[] = []
const BYTE = /[\x80-\xff]/g

/**
 * Parses a query into text parameters. This runs before the caller is identified, so it never refuses: a repeated parameter becomes
 * a list and undecodable text becomes null, and the parser of the route reports them.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const pairs = text.split('&', MAX_PARAMETERS + 1)
  if (pairs.length > MAX_PARAMETERS) return TOO_MANY_PARAMETERS
  // Without a prototype, no name collides with an inherited property.
  const parameters: Record<string, unknown> = Object.create(null)
  for (const pair of pairs) {
    if (pair === '') continue
    const end = pair.indexOf('=')
    const given = end === -1 ? pair : pair.slice(0, end)
    const name = decode(given)
    const value = end === -1 ? '' : decode(pair.slice(end + 1))
    const key = name ?? given
    parameters[key] = key in parameters ? REPEATED : name === null ? null : value
  }
  return parameters
}

/** Null if the text is not UTF-8. Node delivers a byte that is not percent-encoded as one character. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ').replace(BYTE, (byte) => `%${byte.charCodeAt(0).toString(16)}`))
  } catch {
    return null
  }
}

const parseNothing = compileParser({}, 'query')

/** Checks the query of a route that declares none: no parameter may be repeated or undecodable. */
export function checkQuery(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.raw.url?.includes('?')) parseNothing(request.query)
  done()
}
