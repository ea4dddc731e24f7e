import { hash as sha } from 'node:crypto'
import { type Algorithm, type ForeignHash, requireWithin } from './foreign-hash.ts'

// The second form is that of Django, which hashes the password with SHA-256 first if the name says so.
const SHAPE = /^(?:bcrypt(_sha256)?\$)?(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/
const ALPHABET = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const SALT_END = 28
const HASH_END = 59
const MIN_COST = 4
/** About a second on one core. */
const MAX_COST = 14

export function parseBcrypt(text: string): ForeignHash | undefined {
  const [, digested, bcryptHash, cost] = SHAPE.exec(text) ?? []
  if (bcryptHash === undefined) return undefined
  const canonical = withoutPaddingBits(bcryptHash)
  const rounds = 2 ** requireWithin('cost', Number(cost), MIN_COST, MAX_COST)
  return {
    cost: { family: 'bcrypt', amount: rounds },
    async matches(password) {
      const { verify } = await import('@node-rs/bcrypt')
      return verify(digested === undefined ? password : sha('sha256', password, 'hex'), canonical)
    },
  }
}

/** Salt and hash end with spare bits. The library refuses a hash in which they are set, as old versions of passlib did. */
function withoutPaddingBits(hash: string): string {
  const cleared = (place: number, bits: number) => ALPHABET.charAt(ALPHABET.indexOf(hash.charAt(place)) & ~bits)
  return hash.slice(0, SALT_END) + cleared(SALT_END, 0b1111) + hash.slice(SALT_END + 1, HASH_END) + cleared(HASH_END, 0b11)
}

/** The amount is a number of rounds. A cost of 10 has 2^10 of them, so any sum of costs can be spent. */
export const bcrypt: Algorithm = {
  share: (_, rounds) => rounds / 2 ** MAX_COST,
  async spend(password, _, rounds) {
    const { hash } = await import('@node-rs/bcrypt')
    for (let cost = MIN_COST; cost <= MAX_COST; cost++) if ((rounds & (1 << cost)) !== 0) await hash(password, cost)
  },
}
