/** Every reason to refuse a request. The HTTP layer and the command line each have one table from code to message. */
export type RefusalCode =
  | 'not_authenticated'
  | 'token_invalid'
  | 'token_expired'
  | 'already_verified'
  | 'key_invalid'
  | 'key_inactive'
  | 'key_expired'
  | 'not_permitted'
  | 'user_not_found'
  | 'key_not_found'
  | 'session_not_found'
  | 'email_taken'
  | 'wrong_credentials'
  | 'login_banned'
  | 'login_unverified'
  | 'ban_self'
  | 'last_admin'
  | 'no_session'
  | 'too_many_keys'
  | 'expiry_in_past'
  | 'no_key'
  | 'too_many_requests'
  | 'unavailable'

export class Refusal extends Error {
  readonly code: RefusalCode

  /** The reason is only logged. It never contains a token, key, password or hash. */
  constructor(code: RefusalCode, reason?: string, options?: ErrorOptions) {
    super(reason ?? code, options)
    this.name = 'Refusal'
    this.code = code
  }
}

/** The client has disconnected, or the deadline has passed: work that is not committed yet must not be committed. */
export class Abandoned extends Refusal {
  constructor() {
    super('unavailable', 'the client has disconnected')
  }
}

/** A limit is exceeded. */
export class TooManyRequests extends Refusal {
  /** The time until a request would pass. */
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number, limit: string) {
    super('too_many_requests', limit)
    this.retryAfterSeconds = retryAfterSeconds
  }
}
