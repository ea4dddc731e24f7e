import type { FastifyRequest } from 'fastify'
import { isLoopbackAddress, isLoopbackHostHeader } from '../../shared/loopback.ts'

// A request with one of these has passed a proxy, so that the address of its client is not the one of the connection.
const PROXY_HEADER =
  /^(?:forwarded|via|x-forwarded.*|(?:x-)?(?:real|client|cluster-client|true-client)-ip|(?:cf-connecting|fly-client)-ip)$/
const OWN_SITES: readonly unknown[] = [undefined, 'none', 'same-origin']

/**
 * Whether a program on this machine sent the request, and not a page of another site in a browser on this machine. The name in the Host
 * header has to be a local one, because another name can resolve to this machine as well (DNS rebinding).
 */
export function isLocalClient({ headers, socket }: FastifyRequest): boolean {
  const { host, origin } = headers
  return (
    isLoopbackAddress(socket.remoteAddress) &&
    isLoopbackHostHeader(host) &&
    !Object.keys(headers).some((name) => PROXY_HEADER.test(name)) &&
    OWN_SITES.includes(headers['sec-fetch-site']) &&
    (origin === undefined || URL.parse(origin)?.host === host)
  )
}
