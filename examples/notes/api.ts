import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { type Identity, LatchkeyError, type Verifier } from '@latchkey/client'

type Note = { readonly id: number; readonly text: string; readonly by: string }
type Answer = { readonly status: number; readonly body: object; readonly code?: string }

const MAX_TEXT_LENGTH = 1000
const MAX_BODY_BYTES = 10_000

/** The notes of each user, and the routes that read and change them. Latchkey says who is calling; everything else is up to the product. */
export function createApi(verifier: Verifier) {
  const notesOf = new Map<number, readonly Note[]>()
  let lastId = 0

  async function answer(request: IncomingMessage, caller: Identity): Promise<Answer> {
    const notes = notesOf.get(caller.userId) ?? []
    if (request.method === 'GET') return { status: 200, body: notes }
    if (request.method === 'DELETE') {
      const id = Number(/\d+$/.exec(request.url ?? '')?.[0])
      notesOf.set(
        caller.userId,
        notes.filter((note) => note.id !== id),
      )
      return { status: 200, body: {} }
    }
    // Refused unread: Node.js discards what is still sent. A body without a length may never end.
    const isSmall = Number(request.headers['content-length']) <= MAX_BODY_BYTES
    if (!isSmall) return { status: 413, body: { detail: 'The note is too large' } }
    const { text } = (await json(request)) as { text: string }
    const by = caller.method === 'session' ? 'you' : 'an API key'
    const note = { id: ++lastId, text: String(text).slice(0, MAX_TEXT_LENGTH), by }
    notesOf.set(caller.userId, [note, ...notes])
    return { status: 201, body: note }
  }

  function refuse(error: unknown): Answer {
    if (!(error instanceof LatchkeyError)) return { status: 400, body: { detail: 'The body is not a note' } }
    // The status to refuse with: 401, 403, or 503 while Latchkey is down.
    return { status: error.status, body: { detail: error.message }, code: error.code }
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const scope = request.method === 'GET' ? 'notes:read' : 'notes:write'
    const { status, body, code } = await verifier
      .verify(request.headers, { scope })
      .then((caller) => answer(request, caller))
      .catch(refuse)
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', ...(code && { 'x-error-code': code }) }
    response.writeHead(status, headers).end(JSON.stringify(body))
  }
}
