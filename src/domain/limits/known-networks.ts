import type { LimitKeys } from '../../security/limit-keys.ts'
import type { Database } from '../../storage/database.ts'
import { keepUntil, readFreeAt } from '../../storage/repositories/operations/rate-limit.repository.ts'
import { emailKey } from '../values/email.ts'
import { networkOf } from '../values/network.ts'

/** The networks that an account was used from. The limits of the API and of the pages share them. */
export type KnownNetworks = {
  has(email: string, ip: string | undefined): Promise<boolean>
  /** Makes the network of a client known to an account, for 30 days. Never fails: the request itself has succeeded by now. */
  add(email: string, ip: string | undefined): Promise<void>
}

export type KnownNetworksParts = {
  readonly db: Database
  readonly keyOf: LimitKeys
  readonly now: () => number
  /** False where nothing limits logins by account: then no login pays for it. */
  readonly isUsed: boolean
}

const MICROSECONDS = 1000
const DAY_MS = 24 * 60 * 60_000
const KNOWN_FOR_MS = 30 * DAY_MS

export function createKnownNetworks({ db, keyOf, now, isUsed }: KnownNetworksParts): KnownNetworks {
  async function knownFor(key: string): Promise<number> {
    return ((await readFreeAt(db, key)) ?? 0) / MICROSECONDS - now()
  }
  const keyFor = (email: string, ip: string | undefined) => keyOf('known', emailKey(email), networkOf(ip))

  async function renew(key: string): Promise<void> {
    // A read costs less than a write, and most logins come from a network that became known on the same day.
    if ((await knownFor(key)) < KNOWN_FOR_MS - DAY_MS) await keepUntil(db, key, (now() + KNOWN_FOR_MS) * MICROSECONDS)
  }

  return {
    has: async (email, ip) => isUsed && (await knownFor(keyFor(email, ip))) > 0,
    async add(email, ip) {
      if (isUsed) await renew(keyFor(email, ip)).catch(() => undefined)
    },
  }
}
