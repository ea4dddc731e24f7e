import { hash as sha } from 'node:crypto'
import { type ForeignHash, requireWithin } from './foreign-hash.ts'

// The second form is that of Django, which hashes the password with SHA-256 first if the name says so.
const SHAPE = /^(?:bcrypt(_sha256)?\$)?(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/
const MIN_COST = 4
/** About a second on one core. */
const MAX_COST = 14

export function parseBcrypt(text: string): ForeignHash | undefined {
  const [, digested, bcryptHash, cost] = SHAPE.exec(text) ?? []
  if (bcryptHash === undefined) return undefined
  const rounds = 2 ** requireWithin('cost', Number(cost), MIN_COST, MAX_COST)
  return {
    cost: { family: 'bcrypt', amount: rounds },
    async matches(password) {
      const { verify } = await import('@node-rs/bcrypt')
      return verify(digested === undefined ? password : sha('sha256', password, 'hex'), bcryptHash)
    },
  }
}

/** Spends a number of rounds: a cost of 10 has 2^10 of them, so any sum of costs can be spent. */
export async function spendBcrypt(password: string, rounds: number): Promise<void> {
  const { hash } = await import('@node-rs/bcrypt')
  for (let cost = MIN_COST; cost <= MAX_COST; cost++) if ((rounds & (1 << cost)) !== 0) await hash(password, cost)
}
