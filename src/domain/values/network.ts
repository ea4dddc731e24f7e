import { isIPv4, isIPv6 } from 'node:net'

const UNKNOWN = 'unknown'
const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0xffff]

/**
 * The network that a client address stands for: an IPv4 address itself, or the /64 of an IPv6 address, because a provider gives a whole
 * /64 to one customer. An IPv4 address that is written as IPv6 is the same network as that address.
 */
export function networkOf(ip: string | undefined): string {
  const address = ip?.split('%')[0] ?? ''
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return UNKNOWN
  const groups = groupsOf(address)
  if (MAPPED_PREFIX.every((group, place) => groups[place] === group)) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.')
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // A URL has the address in its shortest form, without an IPv4 address as its last two groups.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const front = numbersOf(head)
  const back = tail === undefined ? [] : numbersOf(tail)
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
}

function numbersOf(part: string): number[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
}
