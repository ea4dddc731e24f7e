import type { KeyAccess } from './api-key.ts'
import type { User } from './user.ts'

/** The API key that a request was authenticated with. */
export type KeyCredential = {
  readonly id: string
  /** The hash of the secret that was sent: the current one, or one that is being retired. */
  readonly hash: string
  readonly access: KeyAccess
  readonly scopes: readonly string[]
  /** The number of the key, by which its use is counted. */
  readonly seq: number
  /** The limit of the key, and the plan of its owner. */
  readonly limit: string | undefined
  readonly plan: string | undefined
}

/** The user who makes a request, as read from the database for this request, and the session or key that identifies them. */
export type Caller = {
  readonly user: User
  readonly sessionId: string | undefined
  readonly key: KeyCredential | undefined
  /** When the access token or the key expires; for a former secret of a key, at the latest when its overlap ends. */
  readonly expiresAt: number | undefined
  /** Whether the session has a second factor or, for a key, its owner. */
  readonly secondFactor: boolean
  /** Whether the account has a second factor. */
  readonly hasFactor: boolean
  /** When the session was opened or confirmed; never for a key. */
  readonly confirmedAt: number | undefined
}

/** Where a change comes from. Recorded with the event of the change. */
export type Origin = {
  readonly via: 'http' | 'console' | 'cli' | 'start'
  readonly requestId?: string | undefined
  readonly ip?: string | undefined
  /** At most 200 characters. */
  readonly userAgent?: string | undefined
  /** The Accept-Language header. */
  readonly acceptLanguage?: string | undefined
  /** Aborts when the client disconnects or the deadline of the request passes; nothing is committed after that. */
  readonly signal?: AbortSignal | undefined
}

/** An authenticated caller, with the origin of the request. */
export type Actor = { readonly caller: Caller; readonly origin: Origin }

/** A caller with access to the machine, who needs no account: the command line, or the start of the service. */
export type Operator = { readonly caller: 'operator'; readonly origin: Origin }
