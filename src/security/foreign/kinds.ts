import { argon2Share } from './argon2.ts'
import { bcryptShare } from './bcrypt.ts'
import { type HashCost, MAX_FOREIGN_KINDS } from './foreign-hash.ts'
import { pbkdf2Share } from './pbkdf2.ts'
import { scryptShare } from './scrypt.ts'

/** The kinds of foreign hashes that accounts have. There are few of them, however many accounts there are. */
export type ForeignKinds = {
  /** Adds a kind, unless the logins of all accounts would become too expensive. Returns whether the kind is one of them. */
  admits(kind: string): boolean
}

const SEPARATOR = '/'

/** Some products choose a number of iterations for each account. Rounded up to five binary digits, such numbers are a few kinds. */
const KEPT_DIGITS = 5
const MAX_ROUNDING = 1 / 2 ** (KEPT_DIGITS - 1)

/**
 * Each login computes the dearest hash of each family (equal-work.ts), and one hash takes up to about a second on one core. Two of the
 * dearest are as much as a login may cost. The usual costs of several products are less together: bcrypt 12, 1,000,000 iterations of
 * PBKDF2, and the scrypt and argon2 of Django are about one.
 */
const MAX_SHARES = 2 * (1 + MAX_ROUNDING)

/** No hash that is accepted costs more. */
const MAX_SHARE = 1 + MAX_ROUNDING

/** The kind of a hash, as it is stored beside it: its family and the amount of work, or a little more. */
export function kindOf({ family, amount }: HashCost): string {
  return family + SEPARATOR + roundedUp(amount)
}

/** The kind that is stored now in place of one that release 0.8.0 has stored, with the exact amount. */
export function roundedKind(kind: string): string {
  const cost = parseKind(kind)
  return Number.isSafeInteger(cost.amount) && cost.amount > 0 ? kindOf(cost) : kind
}

export function parseKind(kind: string): HashCost {
  const end = kind.lastIndexOf(SEPARATOR)
  return { family: kind.slice(0, end), amount: Number(kind.slice(end + 1)) }
}

export function createForeignKinds(kinds: readonly string[] = []): ForeignKinds {
  const admitted = new Set<string>()
  /** Of each family, the work of its dearest kind. */
  const shares = new Map<string, number>()

  function admits(kind: string): boolean {
    if (admitted.has(kind)) return true
    if (admitted.size >= MAX_FOREIGN_KINDS) return false
    const { family } = parseKind(kind)
    const share = Math.max(shares.get(family) ?? 0, shareOf(kind))
    const others = [...shares].reduce((sum, [name, work]) => (name === family ? sum : sum + work), 0)
    if (others + share > MAX_SHARES) return false
    admitted.add(kind)
    shares.set(family, share)
    return true
  }

  for (const kind of kinds) admits(roundedKind(kind))
  return { admits }
}

/**
 * The dearest kind of each family, without kinds beyond the bounds. An import brings none of those; a row that was changed by hand must
 * not make every login slow.
 */
export function boundedKinds(kinds: readonly string[]): string[] {
  const { admits } = createForeignKinds()
  const possible = [...new Set(kinds.map(roundedKind))].filter((kind) => shareOf(kind) <= MAX_SHARE)
  const highest = new Map<string, number>()
  for (const { family, amount } of possible.map(parseKind)) if (amount > (highest.get(family) ?? 0)) highest.set(family, amount)
  const isDearest = ({ family, amount }: HashCost) => !(amount < (highest.get(family) ?? 0))
  return possible.filter((kind) => isDearest(parseKind(kind))).filter(admits)
}

/** The work of a kind, where 1 is the dearest hash of its algorithm that is accepted. No work for a kind that nothing computes. */
function shareOf(kind: string): number {
  const { family, amount } = parseKind(kind)
  const share = bcryptShare(family, amount) ?? pbkdf2Share(family, amount) ?? scryptShare(family) ?? argon2Share(family) ?? 0
  return share > 0 ? share : 0
}

function roundedUp(amount: number): number {
  const step = 2 ** Math.max(Math.floor(Math.log2(amount)) - KEPT_DIGITS + 1, 0)
  return Math.ceil(amount / step) * step
}
