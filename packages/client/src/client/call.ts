import { type CallOptions, type Fetch, reach } from '../http.ts'
import { toSnake } from '../names.ts'
import type { Tokens } from './tokens.ts'

/**
 * One call of the API with the token of the session. The fields of its body and of its result have the names of JavaScript. What the result
 * is, the description of the API says: no call checks it.
 */
export type Call = <Result = void>(method: string, path: string, fields?: object, options?: CallOptions) => Promise<Result>

/** Starts a session with the tokens that a call returns, and stores them. */
export type Begin = (path: string, fields: object, options?: CallOptions) => Promise<Tokens>

/** An id as part of a path. Others would name another path: without an id, a call that ends one session would end all of them. */
export function segment(id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new TypeError('The id is empty or has characters that no id has')
  return id
}

/** What is sent to the service. The fields of the body have the names of JavaScript. */
type ApiRequest = {
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
