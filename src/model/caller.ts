import type { User } from './user.ts'

/** The authenticated user of a request, as read from the database. Exactly one of the two ids is set. */
export type Caller = {
  readonly user: User
  readonly sessionId: string | undefined
  readonly keyId: string | undefined
}

/** Where a change comes from. Recorded with the event of the change. */
export type Origin = {
  readonly via: 'http' | 'cli' | 'start'
  readonly requestId?: string | undefined
  readonly ip?: string | undefined
  /** Aborts when the client disconnects or the deadline of the request passes; nothing is committed after that. */
  readonly signal?: AbortSignal | undefined
}

/** An authenticated caller, with the origin of the request. */
export type Actor = { readonly caller: Caller; readonly origin: Origin }

/** A caller with access to the machine, who needs no account: the command line, or the start of the service. */
export type Operator = { readonly caller: 'operator'; readonly origin: Origin }
