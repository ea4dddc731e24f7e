import { isIP, isIPv4 } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor, Origin } from '../../model/caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the request comes from. On a route that writes, its signal aborts when the client disconnects or the deadline passes. */
    readonly origin: Origin
    /** The caller and the origin. On routes that are not public. */
    readonly actor: Actor
    /** Set on arrival if the route writes, otherwise on first use. Read `origin` instead. */
    arrival: Origin | undefined
    /** Cancels the work of a route that writes. */
    cancellation: AbortController | undefined
  }
}

const USER_AGENT_MAX_LENGTH = 200
const MAPPED_PREFIX = '::ffff:'

export function decorateOrigin(app: FastifyInstance): void {
  app.decorateRequest('arrival')
  app.decorateRequest('cancellation')
  app.decorateRequest('origin', {
    getter() {
      this.arrival ??= readOrigin(this)
      return this.arrival
    },
  })
  app.decorateRequest('actor', {
    getter() {
      return { caller: this.caller, origin: this.origin }
    },
  })
}

/** Records the origin of a write before any other step: once a client has disconnected, its address is gone. */
export function noteArrival(request: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
  const cancellation = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) cancellation.abort()
  })
  request.cancellation = cancellation
  request.arrival = { ...readOrigin(request), signal: cancellation.signal }
  done()
}

function readOrigin(request: FastifyRequest): Origin {
  const ip = clientAddress(request)
  const userAgent = request.headers['user-agent']?.slice(0, USER_AGENT_MAX_LENGTH)
  const via = request.routeOptions.config.page === 'console' ? 'console' : 'http'
  return { via, requestId: request.id, ip, userAgent, acceptLanguage: request.headers['accept-language'] }
}

/** The address of the client. If the proxy sends something that is not an address, the address of the proxy is used. */
function clientAddress({ ip, socket }: FastifyRequest): string | undefined {
  const address = isIP(ip) === 0 ? socket.remoteAddress : ip
  // A server that listens on IPv6 sees an IPv4 client in this form, which nobody would recognise as their address.
  const mapped = address?.startsWith(MAPPED_PREFIX) ? address.slice(MAPPED_PREFIX.length) : ''
  return isIPv4(mapped) ? mapped : address
}
