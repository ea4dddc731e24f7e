/** One login or registration. Its tokens work while its row exists and its time has not run out. */
export type Session = {
  readonly id: string
  readonly userId: number
  readonly createdAt: number
  readonly expiresAt: number
}
