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
  /** For how long a client may read nothing of its answer. */
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

/** What is known about one connection. */
type Connection = {
  /** The latest request was refused as ambiguous: the bytes after it may be its smuggled half, and are ignored. */
  isRefused: boolean
  /** Requests that wait behind another one for their answer. */
  waiting: number
  latest: ServerResponse | undefined
}

/** The HTTP server, with timeouts and limits. A request that a proxy could read differently is refused before any route sees it. */
export function createHttpServer(handle: RequestListener, limits: Partial<ServerLimits> = {}): Server {
  const connections = new WeakMap<Duplex, Connection>()

  function connectionOf(socket: Duplex): Connection {
    const known = connections.get(socket)
    if (known) return known
    const created = { isRefused: false, waiting: 0, latest: undefined }
    connections.set(socket, created)
    return created
  }

  /** Answers in turn: a request before it on the same connection may still wait for its own answer. Then the connection is closed. */
  function refuse(connection: Connection, response: ServerResponse, status: number): void {
    connection.isRefused = true
    const { headers, body } = rawAnswer(status)
    response.writeHead(status, { ...headers, connection: 'close' }).end(body)
  }

  /**
   * Counts a request that came before the one in front of it was answered. Node runs every request of one read before other
   * connections have a turn, and keeps the answers until the client reads them.
   */
  function isTooMany(connection: Connection, response: ServerResponse): boolean {
    if (connection.waiting + 1 >= MAX_UNANSWERED) return true
    connection.waiting++
    response.once('close', () => connection.waiting--)
    return false
  }

  const allLimits = { ...LIMITS, ...limits }
  // A missing Host is answered below, in the format of this service.
  const server = createServer({ ...allLimits, requireHostHeader: false }, (request, response) => {
    const connection = connectionOf(request.socket)
    if (connection.isRefused) return
    connection.latest = response
    // A response has its socket from the start, unless it has to wait for another.
    if (response.socket === null && isTooMany(connection, response)) {
      connection.isRefused = true
      request.socket.destroy()
    } else if (isAmbiguous(request)) refuse(connection, response, 400)
    else handle(request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connectionOf(request.socket)
    if (connection.isRefused) return
    connection.latest = response
    refuse(connection, response, 417)
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => closeWith(socket, 400, connectionOf(socket)))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    closeWith(socket, STATUS_OF_CLIENT_ERROR[error.code ?? ''] ?? 400, connectionOf(socket))
  })
  endStalledReaders(server, allLimits)
  return server
}

/** Host missing or given twice, an invalid target, or a body whose end two readers could see in different places. */
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
 * A fragment, which no client sends and some readers cut off, or a backslash in the path, which some readers turn into a slash. Other
 * characters that RFC 9112 forbids, such as < and ", are sent in queries by curl and browsers, and are accepted.
 */
function isTargetWrong(target: string): boolean {
  const backslash = target.indexOf('\\')
  return target.includes('#') || (backslash !== -1 && !target.slice(0, backslash).includes('?'))
}

/** Answers bytes that never became a request, and closes the connection. */
function closeWith(socket: Duplex, status: number, connection: Connection): void {
  // After CONNECT nothing else listens, and a client that resets the connection must not end the process.
  socket.on('error', () => socket.destroy())
  if (!socket.writable || isServing(connection)) {
    socket.destroy()
    return
  }
  const { headers, body } = rawAnswer(status)
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}

/** Whether a valid request waits for its answer: the client would take the answer to the invalid bytes for it. */
function isServing({ latest }: Connection): boolean {
  if (latest === undefined || latest.writableFinished) return false
  return latest.socket === null || latest.headersSent || latest.req.complete
}

/** The answer to a request that never reached a route. */
function rawAnswer(status: number): { headers: Readonly<Record<string, string>>; body: string } {
  const body = JSON.stringify({ detail: STATUS_CODES[status] })
  return {
    headers: { ...SECURITY_HEADERS, 'content-type': 'application/json; charset=utf-8', 'content-length': String(body.length) },
    body,
  }
}
