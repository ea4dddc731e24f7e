/** A key that signs tokens for other services. */
export type SigningKey = {
  readonly id: string
  /** The public part as JSON (RFC 7517). */
  readonly publicJwk: string
  /** The private part, encrypted. */
  readonly sealedPrivateKey: string
  readonly createdAt: number
  /** It is published from the beginning, and signs from here on. */
  readonly signsFrom: number
  /** Set once another key replaces it: after the last token that it signed has expired. */
  readonly publishedUntil: number | undefined
}
