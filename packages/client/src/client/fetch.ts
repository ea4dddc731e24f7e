import type { Fetch } from '../http.ts'
import type { Session } from './session.ts'

/** The `fetch` of the platform, with the access token of the session. */
export function createFetch(session: Session, fetch: Fetch): Fetch {
  return (input, init) => {
    const request = new Request(input, init)
    // A stream is sent once: repeating it would need a copy of all of it in memory.
    const isRepeatable = !(init?.body instanceof ReadableStream)
    const attempt = (token: string | undefined) => {
      const copy = isRepeatable ? request.clone() : request
      if (token !== undefined) copy.headers.set('authorization', `Bearer ${token}`)
      return fetch(copy)
    }
    return session.send(attempt, { signal: request.signal, isRepeatable })
  }
}
