import type { CallOptions } from '../http.ts'
import type { Tokens } from './tokens.ts'

/** One call of the API with the token of the session. The fields of its body and of its result have the names of JavaScript. */
export type Call = (method: string, path: string, fields?: object, options?: CallOptions) => Promise<unknown>

/** Starts a session with the tokens that a call returns, and stores them. */
export type Begin = (path: string, fields: object, options?: CallOptions) => Promise<Tokens>

/** An id as part of a path. Others would name another path: without an id, a call that ends one session would end all of them. */
export function segment(id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new TypeError('The id is empty or has characters that no id has')
  return id
}
