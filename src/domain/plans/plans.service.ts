import type { Actor, Caller, KeyCredential, Operator } from '../../model/caller.ts'
import { Refusal, TooManyRequests } from '../../model/refusal.ts'
import { findPlanName, setPlanName } from '../../storage/repositories/users/user.repository.ts'
import { foundUser } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import type { Observer } from '../operations/observer.ts'
import { type Limit, type LimitUnit, type Plan, type Plans, parseLimit, planOf } from '../values/plans.ts'
import { type Counter, type Counting, counterOf, type Quota } from './counting.ts'
import type { KeyUse } from './usage.service.ts'

export type AccountPlans = ReturnType<typeof createAccountPlans>

/** The plans of accounts. Exists where the settings have plans. */
export function createAccountPlans({ reads, changes }: Pick<DomainParts, 'reads' | 'changes'>, plans: Plans) {
  return {
    names: plans.map(({ name }) => name),
    find: async (userId: number): Promise<Plan> => planOf(plans, foundUser(await findPlanName(reads, userId)).plan),
    /** The change applies to the very next request, in every process. */
    async set(by: Actor | Operator, userId: number, name: string): Promise<Plan> {
      const plan = plans.find((one) => one.name === name)
      if (plan === undefined) throw new Refusal('unknown_plan')
      return changes.toAccount(by, { userId, allowed: 'admin' }, async (tx) => {
        if (await setPlanName(tx, userId, name)) tx.record({ kind: 'user.plan_changed', target: userId, changed: ['plan'] })
        return plan
      })
    },
  }
}

const UNIT_NAMES: Readonly<Record<LimitUnit, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day' }

type KnownCounters = Pick<KeyCredential, 'plan' | 'limit'> & { readonly counters: readonly Counter[] }
const NO_COUNTERS: readonly Counter[] = []

export type Metering = ReturnType<typeof createMetering>

type MeteringParts = {
  readonly plans: Plans | undefined
  readonly counting: Counting
  readonly use: KeyUse
  readonly observer: Pick<Observer, 'limited'>
}

const MAX_REMEMBERED = 10_000

/** Counts the requests of keys that products ask about, and refuses those beyond a limit. */
export function createMetering({ plans, counting, use, observer }: MeteringParts) {
  // The limits of the keys that were used lately. A key with another limit, or a new plan of its owner, replaces its entry.
  const remembered = new Map<number, KnownCounters>()

  function countersOf({ user, key }: Caller): readonly Counter[] {
    if (key === undefined) return NO_COUNTERS
    const { seq, plan, limit } = key
    const known = remembered.get(seq)
    if (known !== undefined && known.plan === plan && known.limit === limit) return known.counters
    const ofAccount =
      plans === undefined ? [] : planOf(plans, plan).limits.map((one) => counterOf(nameOf('account', one), `u${user.id}`, one))
    const own = limit === undefined ? undefined : parseLimit(limit)
    const counters = own === undefined ? ofAccount : [...ofAccount, counterOf(nameOf('key', own), `k${seq}`, own)]
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(seq, { plan, limit, counters })
    return counters
  }

  return {
    /** What is left of each limit of the caller. None for a session, and for a key without a limit. */
    status: (caller: Caller): readonly Quota[] => counting.quotas(countersOf(caller)),
    /** Counts a request, and returns what is left. Throws TooManyRequests if a limit is exceeded: then it costs nothing. */
    async take(caller: Caller, cost: number): Promise<readonly Quota[]> {
      const { user, key } = caller
      if (key === undefined) return []
      const counters = countersOf(caller)
      const taken = await counting.take(counters, cost)
      use.note(key, user.id, taken === 'refused' ? 'limited' : 'allowed', cost)
      if (taken !== 'refused') return taken
      const exceeded = counting.quotas(counters).filter(({ remaining }) => remaining < cost)
      observer.limited(exceeded.some(({ counter }) => counter.subject.startsWith('u')) ? 'check:account' : 'check:key')
      throw new TooManyRequests(retryAfterSeconds(exceeded), exceeded.map(({ counter }) => counter.name).join(', '))
    },
    /** Undoes the count of a request that then failed. */
    undo(caller: Caller, cost: number): void {
      const { user, key } = caller
      if (key === undefined) return
      counting.undo(countersOf(caller), cost)
      use.note(key, user.id, 'allowed', -cost)
    },
  }
}

function nameOf(owner: 'account' | 'key', { unit }: Limit): string {
  return `${owner}-${UNIT_NAMES[unit]}`
}

/** The seconds until the last of the exceeded limits is available again. At least one: other processes may give back what they hold. */
function retryAfterSeconds(exceeded: readonly Quota[]): number {
  return Math.max(1, ...exceeded.map(({ resetMs, counter }) => Math.ceil((resetMs ?? counter.limit.periodMs) / 1000)))
}
