import { Readable } from 'node:stream'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { App } from '../../../src/http/pipeline/declarations.ts'

/** A request whose headers arrive at once and whose body, JSON or the fields of a form, arrives when the test says so. */
export function stall(app: App, { payload = {}, headers, ...request }: InjectOptions & { payload?: object | string }) {
  const isText = typeof payload === 'string'
  const body = isText ? payload : JSON.stringify(payload)
  const { promise: accepted, resolve: accept } = Promise.withResolvers<void>()
  const stream = new Readable({ read: () => accept() })
  const length = { ...(!isText && { 'content-type': 'application/json' }), 'content-length': String(Buffer.byteLength(body)) }
  const response = app.inject({ ...request, headers: { ...headers, ...length }, payload: stream })
  // The service does not read the body of a request that it refuses for its headers.
  void response.then(() => accept())
  return {
    /** Resolves when the service has accepted the headers and waits for the body. */
    accepted,
    /** Sends the body, and returns the response. */
    finish(): Promise<LightMyRequestResponse> {
      stream.push(body)
      stream.push(null)
      return response
    },
  }
}
