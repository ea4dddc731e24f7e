import { hashRaw, verify } from '@node-rs/argon2'
import { type Algorithm, checkParts, type ForeignHash, fromBase64, requireWithin, UnusableHash, unpadded } from './foreign-hash.ts'

// Django writes the name before the hash of the standard form.
const SHAPE = /^(?:argon2)?\$argon2(id|i|d)\$v=(16|19)\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/
/** The numbers that the library has for them. */
export const ARGON2_VARIANTS: Readonly<Record<string, number>> = { argon2d: 0, argon2i: 1, argon2id: 2 }
const MAX_MEMORY_KIB = 256 * 1024
const MAX_PASSES = 64
/** 1 GiB written in all passes together: about a second on one core. */
const MAX_WORK_KIB = 1024 * 1024
const MAX_LANES = 16
// The least that the algorithm allows.
const MIN_LANE_KIB = 8
const MIN_SALT_BYTES = 8

export function parseArgon2(text: string): ForeignHash | undefined {
  const [, variant, version, memory, passes, lanes, saltText = '', keyText = ''] = SHAPE.exec(text) ?? []
  if (variant === undefined) return undefined
  const parallelism = requireWithin('number of lanes', Number(lanes), 1, MAX_LANES)
  const memoryKiB = requireWithin('memory in KiB', Number(memory), MIN_LANE_KIB * parallelism, MAX_MEMORY_KIB)
  const timeCost = requireWithin('number of passes', Number(passes), 1, MAX_PASSES)
  if (memoryKiB * timeCost > MAX_WORK_KIB) throw new UnusableHash(`its memory times its passes should be at most ${MAX_WORK_KIB} KiB`)
  const [salt, key] = [fromBase64(saltText), fromBase64(keyText)]
  checkParts(salt, key)
  if (salt.length < MIN_SALT_BYTES) throw new UnusableHash(`its salt should have at least ${MIN_SALT_BYTES} bytes`)
  const cost = `m=${memoryKiB},t=${timeCost},p=${parallelism}`
  // The library accepts numbers without leading zeros, and base64 without padding.
  const canonical = `$argon2${variant}$v=${version}$${cost}$${unpadded(salt)}$${unpadded(key)}`
  return {
    cost: { family: `argon2${variant} ${memoryKiB} ${timeCost} ${parallelism}`, amount: 1 },
    matches: (password) => verify(canonical, password),
  }
}

export function argon2(algorithm: number): Algorithm {
  return {
    share: ([memoryKiB, passes]) => (memoryKiB * passes) / MAX_WORK_KIB,
    spend: (password, [memoryCost, timeCost, parallelism]) => hashRaw(password, { algorithm, memoryCost, timeCost, parallelism }),
  }
}
