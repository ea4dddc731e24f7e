import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'

declare global {
  interface JSON {
    /** Part of ECMAScript; the types of TypeScript lack it. */
    rawJSON(text: string): unknown
  }
}

type Schema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

/**
 * Compiles the schema of a response into a function that writes a value as JSON: the declared fields in the declared order,
 * optional ones last, and no others. A field that a handler leaves in by mistake, such as a hash, is never sent.
 */
export function compileSerializer(schema: object): (value: unknown) => string {
  const pick = compilePick(schema)
  return (value) => JSON.stringify(pick(value))
}

type Pick = (value: unknown) => unknown

/** A page number of a request may be beyond 2^53, and is repeated digit by digit. */
function pickInteger(value: unknown): unknown {
  if (typeof value === 'bigint') return JSON.rawJSON(String(value))
  if (value === null || Number.isInteger(value)) return value
  throw new Error('the response has another value in place of an integer')
}

function compilePick({ type, properties, required = [], items }: Schema): Pick {
  if (type === 'integer') return pickInteger
  if (items !== undefined) {
    const pickItem = compilePick(items)
    return (value) => (Array.isArray(value) ? value.map(pickItem) : value)
  }
  if (properties === undefined) return (value) => value
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    pick: compilePick(schema),
    isRequired: required.includes(name),
  }))
  // The optional fields follow, such as those that a client asks for with `?details=true`.
  fields.sort((one, other) => Number(other.isRequired) - Number(one.isRequired))
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const picked: Record<string, unknown> = {}
    for (const { name, pick, isRequired } of fields) {
      const field = (value as Record<string, unknown>)[name]
      if (field !== undefined) picked[name] = pick(field)
      else if (isRequired) throw new Error(`the response lacks ${name}, which its schema requires`)
    }
    return picked
  }
}

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
