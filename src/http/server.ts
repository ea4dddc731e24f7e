import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { rawAnswer } from './errors.ts'
import { SECURITY_HEADERS } from './headers.ts'

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
  // A missing Host is answered below, in our words.
  const server = createServer({ ...LIMITS, ...limits, requireHostHeader: false }, (request, response) => {
    // What follows an ambiguous request on the same connection may be its smuggled half.
    if (refusedSockets.has(request.socket)) return
    if (!isAmbiguous(request)) return handle(request, response)
    refusedSockets.add(request.socket)
    closeWith(request.socket, 400)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    closeWith(socket, STATUS_OF_CLIENT_ERROR[error.code ?? ''] ?? 400)
  })
  server.on('checkExpectation', (request: IncomingMessage, _response: ServerResponse) => closeWith(request.socket, 417))
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

function closeWith(socket: Duplex, status: number): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(rawAnswer(status, SECURITY_HEADERS), () => socket.destroy())
}
