import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

export type Body = Readonly<Record<string, unknown>>

export type Seen = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The fields of a JSON body. */
  readonly json: Body
}
export type Reply = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }

export type Service = {
  /** Passes the request on, with changes. */
  forward(changes?: Partial<Pick<Seen, 'query' | 'headers' | 'json' | 'path'>>): Promise<Reply>
  /** A request of its own, as an admin. */
  asAdmin(method: string, path: string): Promise<Reply>
}

/** Answers a request in place of the service. */
export type Plant = (seen: Seen, service: Service) => Promise<Reply>

/** A proxy before the service that changes what it does. It stops when the test ends. */
export async function startMutatingProxy(t: TestContext, url: string, adminKey: string, plant: Plant): Promise<string> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(599).end(String(error))
    })
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = await read(request)
    const service: Service = {
      forward: (changes = {}) => forward(url, { ...seen, ...changes, ...(changes.json && { body: JSON.stringify(changes.json) }) }),
      asAdmin: (method, path) =>
        forward(url, { method, path, query: new URLSearchParams(), headers: { 'x-api-key': adminKey }, body: '', json: {} }),
    }
    const reply = await plant(seen, service)
    response.writeHead(reply.status, reply.headers).end(reply.body)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function read(request: IncomingMessage): Promise<Seen> {
  const body = await readAll(request)
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://proxy')
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  return { method: request.method ?? '', path: pathname, query: searchParams, headers, body, json: objectIn(body) }
}

async function forward(url: string, { method, path, query, headers, body }: Seen): Promise<Reply> {
  const { host: _, connection: __, 'content-length': ___, 'transfer-encoding': ____, ...passed } = headers
  const response = await fetch(`${url}${path}${query.size > 0 ? `?${query}` : ''}`, {
    method,
    headers: passed,
    redirect: 'manual',
    ...(method !== 'GET' && method !== 'HEAD' && { body }),
  })
  const received = await response.text()
  const kept = [...response.headers].filter(
    ([name]) => !/^(?:connection|keep-alive|content-length|content-encoding|transfer-encoding)$/.test(name),
  )
  return { status: response.status, headers: Object.fromEntries(kept), body: received }
}

export function objectIn(body: string): Body {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Body) : {}
  } catch {
    return {}
  }
}

export function jsonReply(status: number, body: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

/** The same reply with another status, or with fields changed or, where undefined, removed. */
export function altered(reply: Reply, { status = reply.status, fields }: { status?: number; fields?: Body }): Reply {
  if (fields === undefined) return { ...reply, status }
  return { ...reply, status, body: JSON.stringify({ ...objectIn(reply.body), ...fields }) }
}
