import { entity, flag, instant, integer, optional, text, texts, type ValuesOf } from './entity.ts'

/** How somebody has shown who they are: with a password, a passkey, a mailed code, or an account at the provider of this name. */
export type SignInMethod = 'password' | 'passkey' | 'email' | (string & {})

/** A second step of a login. */
export const FACTOR_METHODS = ['totp', 'recovery_code', 'passkey'] as const
export type FactorMethod = (typeof FACTOR_METHODS)[number]

/** The secret that an account shares with an app. */
export const TOTP_SECRET = entity('totp_secrets', {
  userId: integer,
  // Encrypted, and the fingerprint of the SECRET_KEY that encrypts it.
  secret: text,
  sealedWith: text,
  createdAt: instant,
  // Unknown until a code of the app was right.
  confirmedAt: optional(instant),
  lastStep: integer,
  salt: text,
})

export const RECOVERY_CODE = entity('recovery_codes', { userId: integer, codeHash: text })

/** A passkey as its owner sees it. */
export const PASSKEY = entity('passkeys', {
  id: text,
  name: text,
  createdAt: instant,
  lastUsedAt: optional(instant),
  // Whether its provider keeps a copy, such as for another device.
  backedUp: flag,
})

export const PASSKEY_ROW = entity('passkeys', {
  ...PASSKEY.fields,
  userId: integer,
  credentialId: text,
  publicKey: text,
  counter: integer,
  transports: texts,
})

/** A login whose first step was right. */
export const LOGIN_CHALLENGE = entity('login_challenges', {
  id: text,
  userId: integer,
  method: text,
  resetVersion: integer,
  wrongCodes: integer,
  expiresAt: instant,
})

/** A code with which the pages hand a person to the product. */
export const HAND_OFF = entity('hand_offs', {
  id: text,
  userId: integer,
  sessionId: text,
  codeChallenge: text,
  isUsed: flag,
  expiresAt: instant,
})

export type HandOff = ValuesOf<typeof HAND_OFF.fields>
export type TotpSecret = ValuesOf<typeof TOTP_SECRET.fields>
export type RecoveryCode = ValuesOf<typeof RECOVERY_CODE.fields>
export type Passkey = ValuesOf<typeof PASSKEY.fields>
export type PasskeyRow = ValuesOf<typeof PASSKEY_ROW.fields>
export type LoginChallenge = ValuesOf<typeof LOGIN_CHALLENGE.fields>

/** Where passkeys of this service work: the domain that they belong to, and the pages that may ask for them. */
export type RelyingParty = { readonly id: string; readonly name: string; readonly origins: readonly string[] }

/** What an account has to show who its owner is. */
export type Factors = {
  readonly hasPassword: boolean
  readonly totp: boolean
  readonly passkeys: number
  readonly recoveryCodes: number
}
