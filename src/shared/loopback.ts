import { BlockList, isIP } from 'node:net'

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
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host)
}

/** The same for a Host header or the host of a URL, with or without a port. */
export function isLoopbackHostHeader(header: string | undefined): boolean {
  const [, bracketed, name] = HOST_HEADER.exec(header ?? '') ?? []
  return isLoopbackHost(bracketed ?? name ?? '')
}
