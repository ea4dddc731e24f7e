import { hashRaw, verify } from '@node-rs/argon2'
import { checkParts, type ForeignHash, fromBase64, requireWithin, UnusableHash } from './foreign-hash.ts'

// Django writes the name before the hash of the standard form.
const SHAPE = /^(?:argon2)?(\$argon2(id|i|d)\$v=(16|19)\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+))$/
const FAMILY = /^argon2(id|i|d) (\d+) (\d+) (\d+)$/
const ALGORITHMS: Readonly<Record<string, number>> = { d: 0, i: 1, id: 2 }
const MAX_MEMORY_KIB = 256 * 1024
const MAX_PASSES = 64
/** 1 GiB written in all passes together: about a second on one core. */
const MAX_WORK_KIB = 1024 * 1024
const MAX_LANES = 16

export function parseArgon2(text: string): ForeignHash | undefined {
  const [, argon2Hash, variant, , memory, passes, lanes, salt = '', key = ''] = SHAPE.exec(text) ?? []
  if (argon2Hash === undefined) return undefined
  const memoryKiB = requireWithin('memory in KiB', Number(memory), 8, MAX_MEMORY_KIB)
  const timeCost = requireWithin('number of passes', Number(passes), 1, MAX_PASSES)
  const parallelism = requireWithin('number of lanes', Number(lanes), 1, MAX_LANES)
  if (memoryKiB * timeCost > MAX_WORK_KIB) throw new UnusableHash(`its memory times its passes should be at most ${MAX_WORK_KIB} KiB`)
  checkParts(fromBase64(salt), fromBase64(key))
  return {
    cost: { family: `argon2${variant} ${memoryKiB} ${timeCost} ${parallelism}`, amount: 1 },
    matches: (password) => verify(argon2Hash, password),
  }
}

/** Computes one hash of the cost that the name of a family contains. Returns false for another family. */
export async function spendArgon2(password: string, family: string): Promise<boolean> {
  const [, variant = '', memoryCost, timeCost, parallelism] = FAMILY.exec(family) ?? []
  const algorithm = ALGORITHMS[variant]
  if (algorithm === undefined) return false
  const cost = { memoryCost: Number(memoryCost), timeCost: Number(timeCost), parallelism: Number(parallelism) }
  await hashRaw(password, { algorithm, ...cost })
  return true
}
