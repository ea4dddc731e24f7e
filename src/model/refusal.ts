/** Every way in which Latchkey says no. The HTTP layer and the command line each hold one table from code to words. */
export type RefusalCode =
  | 'not_authenticated'
  | 'token_invalid'
  | 'token_expired'
  | 'key_invalid'
  | 'key_inactive'
  | 'not_permitted'
  | 'user_not_found'
  | 'key_not_found'
  | 'email_taken'
  | 'wrong_credentials'
  | 'login_banned'
  | 'login_unverified'
  | 'ban_self'
  | 'last_admin'
  | 'no_session'
  | 'unavailable'

export class Refusal extends Error {
  readonly code: RefusalCode

  /** The reason is for the log alone; it never holds a token, key, password or hash. */
  constructor(code: RefusalCode, reason?: string, options?: ErrorOptions) {
    super(reason ?? code, options)
    this.name = 'Refusal'
    this.code = code
  }
}

/** The client has gone, or was told at the deadline to try again: work that has not ended is not to have happened. */
export class Abandoned extends Refusal {
  constructor() {
    super('unavailable', 'nobody waits for it any more')
  }
}
