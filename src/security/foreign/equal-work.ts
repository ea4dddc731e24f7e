import { spendArgon2 } from './argon2.ts'
import { spendBcrypt } from './bcrypt.ts'
import type { ForeignHash, HashCost } from './foreign-hash.ts'
import { kindOf } from './kinds.ts'
import { isCovered, type LoginWork } from './login-work.ts'
import type { MeasureFamilies } from './measure-thread.ts'
import { createMeasuredWork } from './measured-work.ts'
import { parseForeignHash } from './parse-hash.ts'
import { spendPbkdf2 } from './pbkdf2.ts'
import { spendScrypt } from './scrypt.ts'

type Comparison = { readonly isMatch: boolean; readonly spent: HashCost | undefined }

/** Compares a password with the hash that was prepared. */
export type EqualComparison = (password: string) => Promise<boolean>

/**
 * Prepares the comparison of a foreign hash, or of none, which does the same work in either case: for each family of which an account has a
 * hash, the highest amount that any account has. The time of a login therefore does not show whose hash was compared. A hash that is too
 * expensive on this machine matches no password: its owner resets it by mail, and all other logins stay fast.
 */
export function createEqualWork(measure?: MeasureFamilies | undefined) {
  const workOf = createMeasuredWork(measure)
  return async (hash: string | undefined, kinds: readonly string[]): Promise<EqualComparison> => {
    const foreign = hash === undefined ? undefined : readHash(hash)
    const work = await workOf(foreign === undefined ? kinds : [...kinds, kindOf(foreign.cost)])
    const compared = foreign !== undefined && isCovered(work, foreign.cost) ? foreign : undefined
    return async (password) => {
      const { isMatch, spent } = await compare(password, compared)
      for (const cost of remainingWork(spent, work)) await attempt(spend(password, cost))
      return isMatch
    }
  }
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
export function remainingWork(spent: HashCost | undefined, work: LoginWork): HashCost[] {
  const amounts = [...work].map(([family, highest]) => ({ family, amount: highest - (spent?.family === family ? spent.amount : 0) }))
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

async function spend(password: string, { family, amount }: HashCost): Promise<void> {
  if (family === 'bcrypt') await spendBcrypt(password, amount)
  else (await spendPbkdf2(password, family, amount)) || (await spendScrypt(password, family)) || (await spendArgon2(password, family))
}
