import type { Origin } from '../../model/caller.ts'
import { Refusal, type RefusalCode } from '../../model/refusal.ts'
import type { User } from '../../model/user.ts'
import type { LimitKeys } from '../../security/derived-keys.ts'
import { hasBegun } from '../../security/password-queue.ts'
import { emailKey } from '../values/email.ts'
import type { AccountLimit, AddressLimit, LimitName, RateLimits } from '../values/rate-limits.ts'
import { type KnownNetworks, networkOf } from './known-networks.ts'
import { type Counter, counterOf, createPlaces, type Place, type PlacesParts } from './places.ts'

export type Limiter = ReturnType<typeof createLimiter>

/** Limits, and the names of their counts. */
type LimitRules = { readonly limits: RateLimits; readonly keyOf: LimitKeys }

type LimiterParts = PlacesParts & {
  /** A request passes if all of them let it pass. */
  readonly rules: readonly LimitRules[]
  readonly known: KnownNetworks
}

/** The limits of the settings, shared by all processes of one database (docs/decisions/0012-rate-limits.md). */
export function createLimiter({ db, rules, known, observer, now }: LimiterParts) {
  const takeAll = createPlaces({ db, observer, now })
  const has = (name: LimitName) => rules.some(({ limits }) => limits[name] !== undefined)

  function countersOf(name: LimitName, ...about: readonly string[]): readonly Counter[] {
    return rules.flatMap(({ limits, keyOf }) => {
      const limit = limits[name]
      return limit === undefined ? [] : [counterOf(name, keyOf(name, ...about), limit)]
    })
  }

  /**
   * Guesses from anywhere count together. A network that the account was used from counts apart, so that an attacker elsewhere cannot
   * keep the owner out.
   */
  async function accountCounters(
    name: AccountLimit,
    email: string,
    ip: string | undefined,
    subject = emailKey(email),
  ): Promise<readonly Counter[]> {
    if (!has(name)) return []
    const isApart = name !== 'mail:account' && (await known.has(email, ip))
    return countersOf(name, subject, ...(isApart ? [networkOf(ip)] : []))
  }

  /**
   * Runs a login that has counted already. The places are given back if it succeeds, or if it fails before a password was hashed for a client
   * that is still connected.
   */
  async function settle<Result>(places: readonly Place[] = [], { signal }: Origin, work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work()
      await Promise.all(places.map((place) => place.giveBack()))
      return result
    } catch (error) {
      if (!isCounted(error, signal)) await Promise.all(places.map((place) => place.giveBack()))
      throw error
    }
  }

  return {
    has,
    /** Counts a request from an address, or refuses it. */
    countAddress: (name: AddressLimit, ip: string | undefined) => takeAll(countersOf(name, networkOf(ip))),
    /** Counts a request about an e-mail address, or refuses it. Costs the same whether or not the address has an account. */
    countAccount: async (name: AccountLimit, email: string, ip: string | undefined) => takeAll(await accountCounters(name, email, ip)),
    /** Counts a wrong second factor, or refuses it. A new address of the account does not begin the count anew. */
    countCode: async ({ id, email }: Pick<User, 'id' | 'email'>, ip: string | undefined) =>
      takeAll(await accountCounters('code:account', email, ip, `user ${id}`)),
    /** Counts a request that sends a mail, by its address and by the address of the mail. */
    async countMail(email: string, ip: string | undefined): Promise<void> {
      await takeAll([...countersOf('mail:ip', networkOf(ip)), ...(await accountCounters('mail:account', email, ip))])
    },
    /** Counts and runs work that compares a password. It counts like a login: by its failure. */
    async attempt<Result>(email: string, origin: Origin, work: () => Promise<Result>): Promise<Result> {
      const { ip } = origin
      const place = await takeAll([...countersOf('login:ip', networkOf(ip)), ...(await accountCounters('login:account', email, ip))])
      return settle([place], origin, work)
    },
    settle,
    /** Makes the network of a client known to an account: its owner has signed in there, or has reset the password. */
    recognise: known.add,
  }
}

/** Refusals of a password, also of one that needs no comparison: it is longer than any. */
const GUESSES: ReadonlySet<RefusalCode> = new Set([
  'wrong_credentials',
  'login_banned',
  'login_unverified',
  'invalid_code',
  'code_refused',
  'provider_refused',
] as const)

/**
 * Whether a login that failed counts: it may have been a guess, or a password was hashed for it, whatever happened then. Otherwise any
 * number of passwords could be hashed at a moment when all logins fail late.
 */
function isCounted(error: unknown, signal: AbortSignal | undefined): boolean {
  // A client that disconnects gets nothing back. An expired deadline has a refusal as its reason.
  const hasDisconnected = signal?.aborted === true && !(signal.reason instanceof Refusal)
  return (error instanceof Refusal && GUESSES.has(error.code)) || hasBegun(signal) || hasDisconnected
}
