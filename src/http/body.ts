import type { FastifyInstance, FastifyRequest } from 'fastify'
import { COMPLAINTS, InvalidRequest } from './faults.ts'

export const BODY_LIMIT_BYTES = 64 * 1024

const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json\s*(?:;|$)/i

/** Bodies are JSON in UTF-8, and are read only where a route takes one. */
export function installBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (!request.routeOptions.schema?.body) return undefined
    if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) throw invalidBody(COMPLAINTS.contentType)
    return parseJson(body)
  })
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw invalidBody(COMPLAINTS.missing)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw invalidBody(COMPLAINTS.jsonInvalid)
  }
}

function invalidBody(complaint: { msg: string; type: string }): InvalidRequest {
  return new InvalidRequest([{ loc: ['body'], ...complaint }])
}
