/** One login or registration. Its tokens work while its row exists and has not expired. */
export type Session = {
  readonly id: string
  readonly userId: number
  readonly createdAt: number
  readonly expiresAt: number
}
