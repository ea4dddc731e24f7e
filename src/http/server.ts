import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ANSWERS, type Answer } from './answers/answers.ts'
import { SECURITY_HEADERS } from './pipeline/headers.ts'

/**
 * Importing node:http evaluates all of its exports, which loads the client side of Node: 15 MB of memory and a tenth of a second at
 * every start, for code that this service does not use.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export type ServerLimits = {
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  readonly connectionsCheckingInterval: number
  readonly maxHeaderSize: number
  /** How long a client may go without reading its response. */
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

const CLIENT_ERROR_ANSWERS: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: ANSWERS.headers_too_large,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ANSWERS.body_too_large,
  ERR_HTTP_REQUEST_TIMEOUT: ANSWERS.request_timeout,
}

/** The state of one connection. */
type Connection = {
  /** The latest request was refused as ambiguous. The bytes after it are ignored, because they may be a smuggled request. */
  isRefused: boolean
  /** Pipelined requests that wait for an earlier response. */
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

  /** Refuses a request, after the responses to earlier requests on the same connection. Then the connection is closed. */
  function refuse(connection: Connection, response: ServerResponse, answer: Answer): void {
    connection.isRefused = true
    const { headers, body } = rawAnswer(answer)
    response.writeHead(answer.status, { ...headers, connection: 'close' }).end(body)
  }

  /**
   * Counts a pipelined request: it arrived before an earlier one was answered. Node runs all requests of one read before it serves other
   * connections, and buffers the responses until the client reads them.
   */
  function isTooMany(connection: Connection, response: ServerResponse): boolean {
    if (connection.waiting + 1 >= MAX_UNANSWERED) return true
    connection.waiting++
    response.once('close', () => connection.waiting--)
    return false
  }

  const allLimits = { ...LIMITS, ...limits }
  // A missing Host header is refused below, in the error format of this service.
  const server = createServer({ ...allLimits, requireHostHeader: false }, (request, response) => {
    const connection = connectionOf(request.socket)
    if (connection.isRefused) return
    connection.latest = response
    // A response without a socket waits for an earlier one.
    if (response.socket === null && isTooMany(connection, response)) {
      connection.isRefused = true
      request.socket.destroy()
    } else if (isAmbiguous(request)) refuse(connection, response, ANSWERS.bad_request)
    else handle(request, response)
  })
  // Node remembers the address once it was read. It cannot be read after a reset, when the request may still be waiting.
  server.on('connection', ({ remoteAddress }) => void remoteAddress)
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connectionOf(request.socket)
    if (connection.isRefused) return
    connection.latest = response
    refuse(connection, response, ANSWERS.expectation_failed)
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => closeWith(socket, ANSWERS.bad_request, connectionOf(socket)))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    closeWith(socket, CLIENT_ERROR_ANSWERS[error.code ?? ''] ?? ANSWERS.bad_request, connectionOf(socket))
  })
  endStalledReaders(server, allLimits)
  return server
}

/** A missing or repeated Host header, an invalid target, or a body whose end two parsers could find in different places. */
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
  // HTTP/1.0 has no chunked encoding, so an HTTP/1.0 proxy would find another end of the body (RFC 9112, 6.1).
  return isHostWrong || (transferEncoding !== undefined && (isOld || transferEncoding.toLowerCase() !== 'chunked'))
}

/**
 * A fragment, which no client sends and some parsers remove, or a backslash in the path, which some parsers turn into a slash. Other
 * characters that RFC 9112 forbids, such as < and ", are accepted, because curl and browsers send them in queries.
 */
function isTargetWrong(target: string): boolean {
  const backslash = target.indexOf('\\')
  return target.includes('#') || (backslash !== -1 && !target.slice(0, backslash).includes('?'))
}

/** Answers bytes that never became a request, and closes the connection. */
function closeWith(socket: Duplex, answer: Answer, connection: Connection): void {
  // After CONNECT there is no other error listener, and a client that resets the connection must not end the process.
  socket.on('error', () => socket.destroy())
  if (!socket.writable || isServing(connection)) {
    socket.destroy()
    return
  }
  const { headers, body } = rawAnswer(answer)
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}

/** Whether a valid request is still unanswered: the client would mistake the answer to the invalid bytes for its response. */
function isServing({ latest }: Connection): boolean {
  if (latest === undefined || latest.writableFinished) return false
  return latest.socket === null || latest.headersSent || latest.req.complete
}

/** The response to a request that never reached a route. */
function rawAnswer({ detail, headers }: Answer): { headers: Readonly<Record<string, string>>; body: string } {
  const body = JSON.stringify({ detail })
  return {
    headers: {
      ...SECURITY_HEADERS,
      ...headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(body.length),
    },
    body,
  }
}

/**
 * Closes connections whose client sends requests but does not read the responses. Each would hold a file descriptor and a buffered
 * response forever. A slow reader keeps its connection, because Node restarts the socket timeout whenever a write makes progress. Any
 * received byte restarts it as well, so nothing is read from a client while a response is waiting to be sent.
 */
function endStalledReaders(server: Server, { stallTimeout, connectionsCheckingInterval }: ServerLimits): void {
  const sockets = new Set<Socket>()
  server.timeout = stallTimeout
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // A periodic check of all sockets adds no cost to a request.
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writableNeedDrain && !socket.isPaused()) pauseUntilDrained(socket)
  }, connectionsCheckingInterval).unref()
  server.once('close', () => clearInterval(timer))
}

function pauseUntilDrained(socket: Socket): void {
  socket.pause()
  socket.once('drain', () => socket.resume())
}

// An idle connection is closed if it sends no request within this time.
const LAST_ANSWER_MS = 1000
// The operating system queues at most this many connections for Node. Later ones are not waited for.
const MAX_BACKLOG = 511

/**
 * Stops accepting connections and closes the open ones gracefully: the next response of each has `Connection: close`. A connection
 * that looks idle may have a request in transit, which would be lost if the connection were closed at once.
 */
export async function drain(server: Server): Promise<void> {
  await acceptAll(server)
  const closed = once(server, 'close')
  // The close method of the HTTP server would also end idle connections.
  TcpServer.prototype.close.call(server)
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  await Promise.race([closed, sleep(LAST_ANSWER_MS, undefined, { ref: false })])
  // Reads requests that have arrived in the meantime, before the connections are closed.
  await nextTurn()
}

/** Accepts the connections that still wait in the queue of the operating system, one in each turn of the event loop. */
async function acceptAll(server: Server): Promise<void> {
  let quietTurns = 0
  const note = () => {
    quietTurns = 0
  }
  server.on('connection', note)
  // The first turn may be the rest of the current one, which accepts no connection.
  for (let turns = 0; quietTurns < 2 && turns < MAX_BACKLOG; turns++) {
    quietTurns++
    await nextTurn()
  }
  server.off('connection', note)
}
