/** A password hash that another system has made. */
export type ForeignHash = {
  readonly cost: HashCost
  matches(password: string): Promise<boolean>
}

/** Hashes of one family differ in the amount of the same work only. */
export type HashCost = {
  readonly family: string
  readonly amount: number
}

/** The numbers that the name of a family contains after its algorithm. */
export type FamilyParameters = readonly [number, number, number]

export type Algorithm = {
  /** The work of an amount, where 1 is the most that is accepted. */
  share(parameters: FamilyParameters, amount: number): number
  /** Does the work of an amount. */
  spend(password: string, parameters: FamilyParameters, amount: number): Promise<unknown>
}

/** A hash that cannot be taken over. The message says why, and never contains the hash. */
export class UnusableHash extends Error {
  override readonly name = 'UnusableHash'
}

/** How many kinds of foreign hashes accounts may have. Django alone has raised its iterations more than twenty times. */
export const MAX_FOREIGN_KINDS = 64

/** How many kinds are read at a time. Release 0.8.0 did not bound their number, so there may be more until housekeeping has rounded them. */
export const MAX_LISTED_KINDS = 1000

const MAX_SALT_BYTES = 256
const MIN_KEY_BYTES = 16
const MAX_KEY_BYTES = 128
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Checks the parts that every hash has. */
export function checkParts(salt: Buffer, key: Buffer): void {
  if (salt.length === 0 || salt.length > MAX_SALT_BYTES) throw new UnusableHash(`its salt should have 1 to ${MAX_SALT_BYTES} bytes`)
  if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES)
    throw new UnusableHash(`its hash should have ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes`)
}

/** Reads base64 with or without padding. passlib writes a dot in place of the plus sign. */
export function fromBase64(text: string): Buffer {
  const standard = text.replaceAll('.', '+')
  if (!BASE64.test(standard)) throw new UnusableHash('it is damaged: a part of it is not base64')
  return Buffer.from(standard, 'base64')
}

/** Refuses a cost beyond the bounds: one login would occupy a core or the memory for too long. */
export function requireWithin(name: string, value: number, minimum: number, maximum: number): number {
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return value
  throw new UnusableHash(`its ${name} should be from ${minimum} to ${maximum}`)
}

/** The base64 that argon2 hashes contain. */
export function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

/** The cost of the hashes that the service makes itself, with argon2id. */
export const PASSWORD_COST = { memoryKiB: 19 * 1024, passes: 2 } as const
