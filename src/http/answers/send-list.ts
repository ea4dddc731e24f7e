import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyReply {
    /** How many bytes of a list were produced so far. */
    streamedBytes: number
  }
}

type Pages<Item> = AsyncIterable<readonly Item[]>

/**
 * Streams a list of any length as JSON, one page at a time and no faster than the client reads. Fastify sends a stream without
 * serialising it, so the return type is `never`: it satisfies the response type that the route declares.
 */
export function sendList<Item>(reply: FastifyReply, pages: Pages<Item>, view: (item: Item) => object): never {
  // A HEAD request has no response body, so nothing is read for it.
  const text = reply.request.method === 'HEAD' ? [] : counted(reply, listText(pages, view))
  return reply.type('application/json; charset=utf-8').send(Readable.from(text, { objectMode: false })) as never
}

async function* counted(reply: FastifyReply, text: AsyncIterable<string>): AsyncIterable<string> {
  for await (const part of text) {
    reply.streamedBytes += Buffer.byteLength(part)
    yield part
  }
}

/** The text of a JSON list, one page at a time. If reading a page fails, the closing bracket is missing and the connection is closed. */
async function* listText<Item>(pages: Pages<Item>, view: (item: Item) => object): AsyncIterable<string> {
  let separator = '['
  for await (const page of pages) {
    yield separator + page.map((item) => JSON.stringify(view(item))).join(',')
    separator = ','
    await nextListTurn()
  }
  yield separator === '[' ? '[]' : ']'
}

let queue: Promise<unknown> = Promise.resolve()

/**
 * Lists queue up, and each turn of the event loop produces one page. Otherwise a fast database and a fast client would occupy the
 * event loop until a list ends, and other requests would have to wait.
 */
function nextListTurn(): Promise<unknown> {
  queue = queue.then(() => nextTurn())
  return queue
}
