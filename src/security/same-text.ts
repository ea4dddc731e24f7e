import { timingSafeEqual } from 'node:crypto'

/** Compares a given text or HMAC with the right one. Takes the same time however much of it is right. */
export function isSame(given: string | Uint8Array, expected: string | Uint8Array): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
