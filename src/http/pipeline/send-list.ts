import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyReply {
    /** How much of a list was made for the client. */
    streamedBytes: number
  }
}

type Pages<Item> = AsyncIterable<readonly Item[]>

/**
 * Sends a list of any length as JSON, a page at a time and no faster than the client reads. A stream is sent as it is: it has the
 * declared shape, though never the whole of it at once, so that its type says nothing.
 */
export function sendList<Item>(reply: FastifyReply, pages: Pages<Item>, view: (item: Item) => object): never {
  // Nothing is read for a HEAD, which would throw all of it away.
  const text = reply.request.method === 'HEAD' ? [] : counted(reply, listText(pages, view))
  return reply.type('application/json; charset=utf-8').send(Readable.from(text, { objectMode: false })) as never
}

async function* counted(reply: FastifyReply, text: AsyncIterable<string>): AsyncIterable<string> {
  for await (const part of text) {
    reply.streamedBytes += Buffer.byteLength(part)
    yield part
  }
}

/** The text of a JSON list, a page at a time. When a page fails, the text ends without its bracket and the connection with it. */
async function* listText<Item>(pages: Pages<Item>, view: (item: Item) => object): AsyncIterable<string> {
  let separator = '['
  for await (const page of pages) {
    yield separator + page.map((item) => JSON.stringify(view(item))).join(',')
    separator = ','
    await ownTurn()
  }
  yield separator === '[' ? '[]' : ']'
}

let line: Promise<unknown> = Promise.resolve()

/**
 * All lists stand in one line and take one page in a turn of the event loop, so that every other request has its turn in between: a
 * database that answers at once, over a connection that takes everything, would never let go of it.
 */
function ownTurn(): Promise<unknown> {
  line = line.then(() => nextTurn())
  return line
}
