import { entity, instant, optional, storedAs, text, type ValuesOf } from './entity.ts'

/** A key that signs tokens for other services. */
export const SIGNING_KEY = entity('signing_keys', {
  id: text,
  // The public part as JSON (RFC 7517).
  publicJwk: text,
  // The private part, encrypted.
  sealedPrivateKey: storedAs('private_key', text),
  createdAt: instant,
  // It is published from the beginning, and signs from here on.
  signsFrom: instant,
  // Set once another key replaces it: after the last token that it signed has expired.
  publishedUntil: optional(instant),
})
export type SigningKey = ValuesOf<typeof SIGNING_KEY.fields>

/** When a secret of the settings, known by its fingerprint, has signed. */
export const SECRET_USE = entity('secret_uses', { fingerprint: text, firstUsedAt: instant, lastUsedAt: instant })
