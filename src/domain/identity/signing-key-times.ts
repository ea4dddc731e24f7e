import type { SigningKey } from '../../model/signing-key.ts'

/** How long a token for other services may live. */
export const TOKEN_LIFETIME_SECONDS = { min: 60, max: 900, default: 300 } as const
/** How long caches may keep the set of public keys. */
export const KEY_SET_MAX_AGE_SECONDS = 300
/** For how long a new key is published before it signs: three times as long as a cache keeps the set without it. */
export const PUBLISHED_BEFORE_MS = 3 * KEY_SET_MAX_AGE_SECONDS * 1000
/** By how much the clocks of two processes, or of a process and a verifier, may differ. */
export const CLOCK_MARGIN_MS = 5 * 60_000

/**
 * The key that signs at a time, of those that can be opened. It is the latest whose time has come. A key that was retired signs only
 * tokens that expire while it is still published.
 */
export function chooseSigningKey(keys: readonly SigningKey[], now: number): SigningKey | undefined {
  const lastExpiry = now + TOKEN_LIFETIME_SECONDS.max * 1000
  const usable = keys.filter(({ publishedUntil }) => publishedUntil === undefined || publishedUntil >= lastExpiry)
  const begun = usable.filter(({ signsFrom }) => signsFrom <= now)
  if (begun.length > 0) return begun.reduce((latest, key) => (key.signsFrom > latest.signsFrom ? key : latest))
  // The clock of the process that created the first key is ahead of this one.
  return usable.length > 0 ? usable.reduce((first, key) => (key.signsFrom < first.signsFrom ? key : first)) : undefined
}

export function isPublished({ publishedUntil }: SigningKey, now: number): boolean {
  return publishedUntil === undefined || publishedUntil > now
}

export type SigningKeyState = 'waiting' | 'signing' | 'retiring'

/** A waiting key is published and does not sign yet; a retiring one has been replaced, or is about to be. */
export function signingKeyState({ signsFrom, publishedUntil }: SigningKey, now: number): SigningKeyState {
  if (signsFrom > now) return 'waiting'
  return publishedUntil === undefined ? 'signing' : 'retiring'
}
