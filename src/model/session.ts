/** One login or registration. Its tokens work while its row exists and has not expired. */
export type Session = {
  readonly id: string
  readonly userId: number
  readonly createdAt: number
  readonly expiresAt: number
  /** The address and the user agent of the login, so that people can recognise it. No rule depends on them. */
  readonly ip?: string | undefined
  readonly userAgent?: string | undefined
}

/** A session as its owner sees it. */
export type ListedSession = Session & {
  /** Up to five minutes out of date. */
  readonly lastSeenAt: number
}
