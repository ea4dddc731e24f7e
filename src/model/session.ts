/** One login or registration. Its tokens work while its row exists and has not expired. */
export type Session = {
  readonly id: string
  readonly userId: number
  readonly createdAt: number
  readonly expiresAt: number
  /** The address and the program of the login, for people to recognise it. Neither decides anything. */
  readonly ip?: string | undefined
  readonly userAgent?: string | undefined
}

/** A session as its owner sees it. */
export type ListedSession = Session & {
  /** At most five minutes behind. */
  readonly lastSeenAt: number
}
