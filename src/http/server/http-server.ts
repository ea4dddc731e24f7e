import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { SECURITY_HEADERS } from '../pipeline/headers.ts'
import { createServer, STATUS_CODES } from './node-http.ts'
import { endStalledReaders } from './stalled-readers.ts'

export type ServerLimits = {
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  readonly connectionsCheckingInterval: number
  readonly maxHeaderSize: number
  /** For how long a client may take nothing of its answer. */
  readonly stallTimeout: number
}

const LIMITS: ServerLimits = {
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
  stallTimeout: 30_000,
}

const MAX_UNANSWERED = 32

const STATUS_OF_CLIENT_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** The HTTP server: time-outs set, and what a proxy in front could read differently refused before any route sees it. */
export function createHttpServer(handle: RequestListener, limits: Partial<ServerLimits> = {}): Server {
  const refusedSockets = new WeakSet<Duplex>()
  const waitingBySocket = new WeakMap<Duplex, number>()

  /** What follows an ambiguous request on the same connection may be its smuggled half. */
  function ignoreRest(socket: HttpSocket): void {
    refusedSockets.add(socket)
    // Node would make a request of all that it has read, and an error of each when the connection ends: more work than to answer them.
    if (socket.parser) socket.parser.onIncoming = stopReading
  }

  /** In its turn: a request before it on the same connection may still be waiting for its own answer. */
  function refuse({ socket }: IncomingMessage, response: ServerResponse, status: number): void {
    ignoreRest(socket)
    const { headers, body } = rawAnswer(status)
    response.shouldKeepAlive = false
    response.writeHead(status, headers).end(body)
  }

  /**
   * For a request that came before the one in front of it was answered. Node runs all that one read brings, thousands, before anybody else has
   * a turn, and keeps their answers until they are read.
   */
  function isTooMany({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const waiting = (waitingBySocket.get(socket) ?? 0) + 1
    if (waiting >= MAX_UNANSWERED) {
      ignoreRest(socket)
      socket.destroy()
      return true
    }
    waitingBySocket.set(socket, waiting)
    response.once('close', () => waitingBySocket.set(socket, (waitingBySocket.get(socket) ?? 1) - 1))
    return false
  }

  const allLimits = { ...LIMITS, ...limits }
  // A missing Host is answered below, in our words.
  const server = createServer({ ...allLimits, requireHostHeader: false }, (request, response) => {
    if (refusedSockets.has(request.socket)) return
    // A response has its socket from the start, unless it has to wait for another.
    if (response.socket === null && isTooMany(request, response)) return
    if (isAmbiguous(request)) refuse(request, response, 400)
    else handle(request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => refuse(request, response, 417))
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => closeWith(socket, 400))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    closeWith(socket, STATUS_OF_CLIENT_ERROR[error.code ?? ''] ?? 400)
  })
  endStalledReaders(server, allLimits)
  return server
}

/** Host missing or given twice, a target that is none, or a body whose end two readers could see in different places. */
function isAmbiguous({ url = '', rawHeaders, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  if (isTargetWrong(url)) return true
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  const isOld = httpVersionMajor === 1 && httpVersionMinor === 0
  const isHostWrong = isOld ? hosts > 1 : hosts !== 1
  const transferEncoding = headers['transfer-encoding']
  // HTTP/1.0 has no chunks: a proxy that speaks it sees another end (RFC 9112, 6.1).
  return isHostWrong || (transferEncoding !== undefined && (isOld || transferEncoding.toLowerCase() !== 'chunked'))
}

/**
 * A fragment, which no client sends and some readers cut off, and a backslash in the path, which some turn round. The rest of what RFC 9112
 * leaves out, such as < and ", curl and browsers send in a query as it is.
 */
function isTargetWrong(target: string): boolean {
  const backslash = target.indexOf('\\')
  return target.includes('#') || (backslash !== -1 && !target.slice(0, backslash).includes('?'))
}

// The response that is being written on a socket, and who reads the requests. Node keeps them there, and does not declare them.
type HttpSocket = Duplex & {
  readonly _httpMessage?: ServerResponse | null
  readonly parser?: { onIncoming: (() => number) | null } | null
}

/** In the words of Node's parser: what comes is not HTTP. */
function stopReading(): number {
  return 2
}

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
