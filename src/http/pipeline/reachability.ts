import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isLoopbackAddress, isLoopbackHostHeader } from '../../shared/addresses.ts'
import { sendMethodNotAllowed, sendNotFound } from '../answers/errors.ts'
import { type Hook, ROUTED_METHODS } from './declarations.ts'
import type { DeclaredPath, DeclaredPaths } from './declared-paths.ts'

// Plain characters. A segment may contain single dots and @, as the name of a kept mail does, but does not begin or end with them: none is
// `.` or `..`.
const WORD = /(?:[\w+-]|%2B)+/.source
/** A segment in the path of a page, as the service writes it. */
export const PAGE_SEGMENT = `${WORD}(?:(?:\\.|@|%40)${WORD})*`
/** The beginning of a target that is a whole URL (RFC 9112, 3.2.2). */
export const TARGET_ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Lets a route answer at one address only (404): its path as it is declared, with or without a trailing slash. The router also finds it
 * under /api/v1 and in percent-encoded spellings, where the rule of a proxy for this path does not apply.
 */
export function refuseAliases(url: string): Hook {
  const isAddress = addressOf(url)
  return (request, reply, done) => {
    if (isAddress(request)) done()
    else sendNotFound(request, reply)
  }
}

function addressOf(url: string): (request: FastifyRequest) => boolean {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? PAGE_SEGMENT : RegExp.escape(segment)))
  const address = new RegExp(`^${segments.join('/').replace(/\/$/, '')}/?$`)
  return (request) => address.test(requestedPath(request))
}

/** The path as the client has sent it. */
function requestedPath({ originalUrl }: FastifyRequest): string {
  return originalUrl.replace(TARGET_ORIGIN, '').split('?', 1)[0] ?? ''
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on a route that refuses methods: the methods that its path accepts. */
    allow?: string
  }
}

export function supportMethods(app: FastifyInstance): void {
  for (const method of ROUTED_METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
}

/**
 * Refuses a request for which the router has found no route: its path does not accept the method (405), or does not exist (404). Some paths
 * need a route for this: see refuseOtherMethods.
 */
export function refuseUnmatched(path: DeclaredPath | undefined, request: FastifyRequest, reply: FastifyReply): void {
  if (path === undefined || (hasOneAddress(path) && !addressOf(path.url)(request))) sendNotFound(request, reply)
  else sendMethodNotAllowed(request, reply, allowOf(path))
}

/**
 * Adds routes that refuse a method (405) where refuseUnmatched cannot: where the router would find a route of another path, as it would take
 * `DELETE /users/search` for `/users/:user_id`, and for a path that only some clients may know of, with the steps that refuse the others.
 */
export function refuseOtherMethods(app: FastifyInstance, paths: DeclaredPaths): void {
  const routed = new Map<DeclaredPath, ReadonlySet<string>>()
  // The router prefers the earlier one of two paths, so that its routes depend on those of the later one.
  for (const path of paths.all.toReversed()) {
    const isSecret = path.routes.some(({ config }) => config.isLocal || config.queryToken !== undefined)
    const found = isSecret ? ROUTED_METHODS : paths.overlapping(path).flatMap((other) => [...(routed.get(other) ?? [])])
    const refused = new Set(found).difference(path.methods)
    routed.set(path, path.methods.union(refused))
    if (refused.size > 0) addRefusal(app, path, [...refused])
  }
}

function addRefusal(app: FastifyInstance, path: DeclaredPath, method: string[]): void {
  const { url, routes } = path
  const allow = allowOf(path)
  const isLocal = routes.some(({ config }) => config.isLocal)
  const isAtOneAddress = hasOneAddress(path)
  const { queryToken, limits, page } = routes.find(({ config }) => config.queryToken !== undefined)?.config ?? {}
  app.route({
    method,
    url,
    exposeHeadRoute: false,
    config: {
      access: 'public',
      writes: false,
      allow,
      isLocal,
      hasOneAddress: isAtOneAddress,
      queryToken,
      ...(limits && { limits }),
      ...(page && { page }),
    },
    schema: {
      response: { 405: { codes: ['method_not_allowed'] }, ...((isLocal || isAtOneAddress) && { 404: { codes: ['path_not_found'] } }) },
    },
    handler: (request, reply) => sendMethodNotAllowed(request, reply, allow),
  })
}

function allowOf({ methods }: DeclaredPath): string {
  return [...methods].sort().join(', ')
}

function hasOneAddress({ routes }: DeclaredPath): boolean {
  return routes.some(({ config }) => config.hasOneAddress)
}

/** Refuses before the body is read, as for a path that does not exist. */
export function refuseMethod(allow: string): Hook {
  return (request, reply) => void sendMethodNotAllowed(request, reply, allow)
}

// A request with one of these has passed a proxy, so that the address of its client is not the one of the connection.
const PROXY_HEADER = /^(?:forwarded|via|cdn-loop|x-(?:forwarded|original|envoy).*|.+-ip)$/
const OWN_SITES: readonly unknown[] = [undefined, 'none', 'same-origin']

/**
 * Whether a program on this machine sent the request, and not a page of another site in a browser on this machine. The name in the Host
 * header has to be a local one, because another name can resolve to this machine as well (DNS rebinding). HTTP/1.0 is the language of
 * proxies: nginx before 1.29.7 speaks it by default, puts the address of this service into the Host header and adds no header that says so.
 * A proxy that does the same in HTTP/1.1, as later versions of nginx do, cannot be told from a browser. Each local route therefore also
 * declares a `queryToken`.
 */
export function isLocalClient({ headers, socket, raw }: FastifyRequest): boolean {
  const { host, origin } = headers
  return (
    raw.httpVersion === '1.1' &&
    isLoopbackAddress(socket.remoteAddress) &&
    isLoopbackHostHeader(host) &&
    !Object.keys(headers).some((name) => PROXY_HEADER.test(name)) &&
    OWN_SITES.includes(headers['sec-fetch-site']) &&
    // This process speaks http: a page that was loaded over https came from another one.
    (origin === undefined || origin === `http://${host?.toLowerCase()}`)
  )
}
