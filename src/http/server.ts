import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { SECURITY_HEADERS } from './headers.ts'
import { createServer, STATUS_CODES } from './node-http.ts'

export type ServerLimits = {
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  readonly connectionsCheckingInterval: number
  readonly maxHeaderSize: number
}

const LIMITS: ServerLimits = {
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
}

const STATUS_OF_CLIENT_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** The HTTP server: time-outs set, and what a proxy in front could read differently refused before any route sees it. */
export function createHttpServer(handle: RequestListener, limits: Partial<ServerLimits> = {}): Server {
  const refusedSockets = new WeakSet<Duplex>()

  /** In its turn: a request before it on the same connection may still be waiting for its own answer. */
  function refuse({ socket }: IncomingMessage, response: ServerResponse, status: number): void {
    refusedSockets.add(socket)
    const { headers, body } = rawAnswer(status)
    response.shouldKeepAlive = false
    response.writeHead(status, headers).end(body)
  }

  // A missing Host is answered below, in our words.
  const server = createServer({ ...LIMITS, ...limits, requireHostHeader: false }, (request, response) => {
    // What follows an ambiguous request on the same connection may be its smuggled half.
    if (refusedSockets.has(request.socket)) return
    if (isAmbiguous(request)) refuse(request, response, 400)
    else handle(request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => refuse(request, response, 417))
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => closeWith(socket, 400))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    closeWith(socket, STATUS_OF_CLIENT_ERROR[error.code ?? ''] ?? 400)
  })
  return server
}

/** Host missing or given twice, or a body whose end two readers could see in different places. */
function isAmbiguous({ rawHeaders, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  const isHostWrong = httpVersionMajor === 1 && httpVersionMinor === 0 ? hosts > 1 : hosts !== 1
  const transferEncoding = headers['transfer-encoding']
  return isHostWrong || (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked')
}

// The response that is being written on a socket. Node keeps it there, and does not declare it.
type HttpSocket = Duplex & { readonly _httpMessage?: ServerResponse | null }

function closeWith(socket: HttpSocket, status: number): void {
  // After CONNECT nobody else listens, and a client that resets the connection must not end the process.
  socket.on('error', () => socket.destroy())
  const current = socket._httpMessage
  // Then the words would be taken for the answer to a request that was read well, and is still being served.
  const isOfAnother = current && (current.headersSent || current.req.complete)
  if (!socket.writable || isOfAnother) {
    socket.destroy()
    return
  }
  const { headers, body } = rawAnswer(status)
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}

/** The answer to what never became a request of a route. */
function rawAnswer(status: number): { headers: Readonly<Record<string, string>>; body: string } {
  const body = JSON.stringify({ detail: STATUS_CODES[status] })
  return {
    headers: { ...SECURITY_HEADERS, 'content-type': 'application/json; charset=utf-8', 'content-length': String(body.length) },
    body,
  }
}
