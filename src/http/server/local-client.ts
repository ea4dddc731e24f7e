import type { FastifyRequest } from 'fastify'
import { isLoopbackAddress, isLoopbackHostHeader } from '../../shared/loopback.ts'

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
