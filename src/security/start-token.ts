import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

const TOKEN_BYTES = 18

/** A token in an address that the start prints: 144 random bits. It is never stored. */
export function generateStartToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Takes the same time however much of the token is right. */
export function isSameToken(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
