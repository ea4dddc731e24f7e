import { type HashCost, MAX_FOREIGN_KINDS, PASSWORD_COST } from './foreign-hash.ts'
import { describeCost, MAX_ROUNDING, parseKind, roundedKind, shareOf } from './kinds.ts'

/** The work with foreign hashes that each login does (equal-work.ts): of each family, the amount of its most expensive hash. */
export type LoginWork = ReadonlyMap<string, number>

/** How long an amount of 1 of a family takes on this machine, in milliseconds of one core. */
export type UnitMs = (family: string) => number

/** The most that a login may cost after an import, in milliseconds of one core, as measured on the machine of the import. */
export const MAX_LOGIN_MS = 500

/**
 * The most that a login does cost, whatever the database contains. Half as much again as an import may bring, so that a machine that is a
 * little slower, or another measurement, keeps no imported account out; and less than a third of the deadline of a request.
 */
export const MAX_COMPUTED_MS = 1.5 * MAX_LOGIN_MS

/** A login compares one hash of the service itself, and replaces a foreign one by another. */
export const OWN_FAMILY = `argon2id ${PASSWORD_COST.memoryKiB} ${PASSWORD_COST.passes} 1`
const OWN_HASHES = 2

/** No hash that is accepted costs more, on any machine. */
const MAX_SHARE = 1 + MAX_ROUNDING
/** All foreign hashes that a login computes, on any machine: two of the most expensive. */
const MAX_SHARES = 2 * MAX_SHARE

export type ForeignKinds = ReturnType<typeof createForeignKinds>

const TOO_MANY_KINDS = 'accounts have hashes of too many other costs, all of which each login has to compute'

/** The kinds of foreign hashes that accounts have. There are few of them, however many accounts there are. */
export function createForeignKinds(kinds: readonly string[], unitMs: UnitMs) {
  const listed = new Set(kinds.map(roundedKind))
  let work = boundedWork(kinds, unitMs)

  function reasonAgainst(cost: HashCost): string | undefined {
    const next = extended(work, cost)
    if (sharesOf(next) > MAX_SHARES) return TOO_MANY_KINDS
    const ms = loginMs(next, unitMs)
    if (ms === Number.POSITIVE_INFINITY) return TOO_MANY_KINDS
    if (ms <= MAX_LOGIN_MS) return undefined
    const own = `${describeCost(cost)} takes ${rounded(cost.amount * unitMs(cost.family))} on this machine`
    return `${own}, and each login would cost ${rounded(ms)} of one core; at most ${MAX_LOGIN_MS} ms are accepted`
  }

  return {
    /** Adds a kind. Returns the reason if the logins of all accounts would become too expensive. */
    add(kind: string): string | undefined {
      const cost = parseKind(kind)
      if (!listed.has(kind) && listed.size >= MAX_FOREIGN_KINDS) return TOO_MANY_KINDS
      if (!isCovered(work, cost)) {
        const reason = reasonAgainst(cost)
        if (reason !== undefined) return reason
        work = extended(work, cost)
      }
      listed.add(kind)
      return undefined
    },
  }
}

/**
 * Decides about all kinds of a file before the first user is written, so that neither the order of its lines nor a few expensive hashes
 * decide about everybody else: kinds that accounts have come first, then those of the most users, then the cheapest. A kind that was refused
 * here is refused whenever it is added again, because the work never shrinks.
 */
export function decideKinds(accountKinds: readonly string[], usersByKind: ReadonlyMap<string, number>, unitMs: UnitMs): ForeignKinds {
  const existing = new Set(accountKinds.map(roundedKind))
  const kinds = createForeignKinds(accountKinds, unitMs)
  const ranked = [...usersByKind]
    .map(([kind, users]) => ({ kind, users: existing.has(kind) ? Number.POSITIVE_INFINITY : users, share: shareOf(parseKind(kind)) }))
    .sort((one, other) => other.users - one.users || one.share - other.share || (one.kind < other.kind ? -1 : 1))
  for (const { kind } of ranked) kinds.add(kind)
  return kinds
}

/**
 * The work of a login while accounts have hashes of these kinds. An import keeps it small; hashes of release 0.9.0, of a faster machine or of
 * a row that was changed by hand must not make every login slow. The cheapest kinds are computed, and the others match no password.
 */
export function boundedWork(kinds: readonly string[], unitMs: UnitMs): LoginWork {
  const costs = [...new Set(kinds.map(roundedKind))].map(parseKind).filter((cost) => shareOf(cost) > 0 && shareOf(cost) <= MAX_SHARE)
  let work: LoginWork = new Map()
  for (const cost of costs.sort((one, other) => shareOf(one) - shareOf(other))) {
    const next = extended(work, cost)
    if (next.size <= MAX_FOREIGN_KINDS && sharesOf(next) <= MAX_SHARES && loginMs(next, unitMs) <= MAX_COMPUTED_MS) work = next
  }
  return work
}

/** What a login costs on this machine, in milliseconds of one core. */
export function loginMs(work: LoginWork, unitMs: UnitMs): number {
  const foreign = [...work].reduce((sum, [family, amount]) => sum + amount * unitMs(family), 0)
  return foreign + OWN_HASHES * unitMs(OWN_FAMILY)
}

/** Whether a login that does this work can compare a hash of this cost. */
export function isCovered(work: LoginWork, { family, amount }: HashCost): boolean {
  return amount <= (work.get(family) ?? 0)
}

export function rounded(ms: number): string {
  return `${Math.ceil(ms)} ms`
}

function extended(work: LoginWork, { family, amount }: HashCost): LoginWork {
  return new Map(work).set(family, Math.max(work.get(family) ?? 0, amount))
}

function sharesOf(work: LoginWork): number {
  return [...work].reduce((sum, [family, amount]) => sum + shareOf({ family, amount }), 0)
}
