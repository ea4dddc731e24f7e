import { BlockList, isIP, type Server } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
const HOST_HEADER = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i

/** Whether an IP address is this machine, also an IPv4 address that is written as IPv6. */
export function isLoopbackAddress(address: string | undefined): boolean {
  const family = isIP(address ?? '')
  return address !== undefined && family !== 0 && LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** Whether a host name or an IP address is this machine. No other name counts: its owner decides what it resolves to. */
function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host)
}

/**
 * Whether a service is for this machine only: it listens on a loopback address, and its links lead to one. A public BASE_URL says that a
 * proxy makes it reachable for others, whose requests may look like local ones.
 */
export function isLocalService({ host, baseUrl }: { readonly host: string; readonly baseUrl: string }): boolean {
  return isLoopbackHost(host) && isLoopbackHostHeader(new URL(baseUrl).host)
}

/** Whether a Host header, or the host of a URL, is this machine, with or without a port. */
export function isLoopbackHostHeader(header: string | undefined): boolean {
  const [, bracketed, name] = HOST_HEADER.exec(header ?? '') ?? []
  return isLoopbackHost(bracketed ?? name ?? '')
}

/** The URL that links begin with. With PORT=0 and no BASE_URL it is complete once the service listens. */
export type PublicUrl = { get(): string; setPort(port: number): void }

const WITHOUT_PORT = 'http://localhost:0'

export function createPublicUrl(baseUrl: string): PublicUrl {
  let url = baseUrl
  return {
    get: () => url,
    setPort(port) {
      if (baseUrl === WITHOUT_PORT) url = `http://localhost:${port}`
    },
  }
}

/** The port that a server has bound; 0 before it listens. */
export function boundPort(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
