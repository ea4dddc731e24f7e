import type { KeyAccess } from '../../model/api-key.ts'
import type { Role } from '../../model/user.ts'

/** A user of a file, checked. What the file leaves out is undefined. */
export type ImportedUser = {
  /** Where the user is in the file. */
  readonly line: number
  readonly id: number | undefined
  readonly email: string
  readonly emailKey: string
  readonly firstName: string | undefined
  readonly lastName: string | undefined
  readonly role: Role | undefined
  readonly verified: boolean | undefined
  readonly banned: boolean | undefined
  readonly createdAt: number | undefined
  readonly lastLoginAt: number | undefined
  /** The hash, or the password itself, which the import hashes. */
  readonly passwordHash: string | undefined
  readonly password: string | undefined
  /** The kind of a hash that another system has made. */
  readonly foreignKind: string | undefined
  readonly keys: readonly ImportedKey[]
}

export type ImportedKey = {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly access: KeyAccess
  readonly isActive: boolean
  readonly createdAt: number | undefined
  readonly expiresAt: number | undefined
  readonly keyHash: string
  readonly prefix: string | undefined
  readonly lastUsedAt: number | undefined
  readonly retiringSecrets: readonly RetiringSecret[]
}

/** A former secret of a rotated key, which works until its overlap ends. */
export type RetiringSecret = { readonly keyHash: string; readonly retiredAt: number; readonly expiresAt: number }

/** A user of a file that cannot be imported. The reason never contains a password or a hash. */
export class Rejected extends Error {
  override readonly name = 'Rejected'
}

/** An object of a file, before it is checked. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
