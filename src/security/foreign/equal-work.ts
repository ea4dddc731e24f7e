import { spendArgon2 } from './argon2.ts'
import { spendBcrypt } from './bcrypt.ts'
import type { ForeignHash, HashCost } from './foreign-hash.ts'
import { boundedKinds, parseKind } from './kinds.ts'
import { parseForeignHash } from './parse-hash.ts'
import { spendPbkdf2 } from './pbkdf2.ts'
import { spendScrypt } from './scrypt.ts'

type Comparison = { readonly isMatch: boolean; readonly spent: HashCost | undefined }

/**
 * Compares a password with a foreign hash, or with none, and spends the same work in either case: for each family of which an account has
 * a hash, the highest amount that any account has. The time of a login therefore does not show whose hash was compared.
 */
export async function matchesAtEqualCost(password: string, hash: string | undefined, kinds: readonly string[]): Promise<boolean> {
  const { isMatch, spent } = await compare(password, hash === undefined ? undefined : readHash(hash))
  for (const cost of remainingWork(spent, kinds)) await attempt(spend(password, cost))
  return isMatch
}

/** Also returns the work that the comparison has spent: none if a library refuses the hash. */
export async function compare(password: string, foreign: ForeignHash | undefined): Promise<Comparison> {
  const isMatch = foreign && (await attempt(foreign.matches(password)))
  return { isMatch: isMatch === true, spent: isMatch === undefined ? undefined : foreign?.cost }
}

/** A hash or a cost in the database that a library refuses must not make a login fail, least of all the logins of other accounts. */
async function attempt<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work
  } catch {
    return undefined
  }
}

/** The work that is left after one hash, so that every comparison costs the same in total. */
export function remainingWork(spent: HashCost | undefined, kinds: readonly string[]): HashCost[] {
  const amounts = [...highestAmounts(kinds)].map(([family, highest]) => ({
    family,
    amount: highest - (spent?.family === family ? spent.amount : 0),
  }))
  return amounts.filter(({ amount }) => amount > 0)
}

/** A hash that cannot be read matches no password, like the mark of an account without one. */
function readHash(hash: string): ForeignHash | undefined {
  try {
    return parseForeignHash(hash)
  } catch {
    return undefined
  }
}

function highestAmounts(kinds: readonly string[]): Map<string, number> {
  const highest = new Map<string, number>()
  for (const { family, amount } of boundedKinds(kinds).map(parseKind)) highest.set(family, Math.max(highest.get(family) ?? 0, amount))
  return highest
}

async function spend(password: string, { family, amount }: HashCost): Promise<void> {
  if (family === 'bcrypt') await spendBcrypt(password, amount)
  else (await spendPbkdf2(password, family, amount)) || (await spendScrypt(password, family)) || (await spendArgon2(password, family))
}
