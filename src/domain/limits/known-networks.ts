import { isIPv4, isIPv6 } from 'node:net'
import type { LimitKeys } from '../../security/derived-keys.ts'
import type { Database } from '../../storage/database.ts'
import { keepUntil, readFreeAt } from '../../storage/repositories/limits/rate-limit.repository.ts'
import { emailKey } from '../values/email.ts'

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

export type KnownNetworks = ReturnType<typeof createKnownNetworks>

type KnownNetworksParts = {
  readonly db: Database
  readonly keyOf: LimitKeys
  readonly now: () => number
}

const MICROSECONDS = 1000
const DAY_MS = 24 * 60 * 60_000
const KNOWN_FOR_MS = 30 * DAY_MS
const MAX_REMEMBERED = 10_000

/** The networks that an account was used from. The limits of the API and of the pages share them. */
export function createKnownNetworks({ db, keyOf, now }: KnownNetworksParts) {
  /** Until when networks are known, by key. Most logins come from a network that became known on the same day: they need no statement. */
  const remembered = new Map<string, number>()
  const keyFor = (email: string, ip: string | undefined) => keyOf('known', emailKey(email), networkOf(ip))
  const isRecent = (until: number | undefined) => until !== undefined && until - now() >= KNOWN_FOR_MS - DAY_MS

  function remember(key: string, until: number): void {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(key, until)
  }

  async function readUntil(key: string): Promise<number> {
    const until = ((await readFreeAt(db, key)) ?? 0) / MICROSECONDS
    if (isRecent(until)) remember(key, until)
    return until
  }

  async function renew(key: string): Promise<void> {
    // A read costs less than a write, and another process may have written it.
    if (isRecent(remembered.get(key)) || isRecent(await readUntil(key))) return
    const until = now() + KNOWN_FOR_MS
    await keepUntil(db, key, until * MICROSECONDS)
    remember(key, until)
  }

  return {
    // Always reads, so that the time of a guess does not depend on what this process remembers.
    has: async (email: string, ip: string | undefined) => (await readUntil(keyFor(email, ip))) > now(),
    /** Makes the network of a client known to an account, for 30 days. Never fails: the request itself has succeeded by now. */
    async add(email: string, ip: string | undefined): Promise<void> {
      await renew(keyFor(email, ip)).catch(() => undefined)
    },
  }
}
