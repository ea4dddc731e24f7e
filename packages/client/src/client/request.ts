import { type CallOptions, type Fetch, reach } from '../http.ts'
import { toSnake } from '../names.ts'

/** What is sent to the service. The fields of the body have the names of JavaScript. */
export type ApiRequest = {
  readonly method: string
  readonly path: string
  readonly fields: object | undefined
  readonly credential: Readonly<Record<string, string>>
}

/** Sends one request to the service at a base URL. */
export function sendTo(fetch: Fetch, base: string, { method, path, fields, credential }: ApiRequest, { signal }: CallOptions) {
  return reach(fetch, base + path, {
    method,
    headers: { accept: 'application/json', ...(fields && { 'content-type': 'application/json' }), ...credential },
    ...(fields && { body: JSON.stringify(toSnake(fields)) }),
    ...(signal && { signal }),
  })
}
