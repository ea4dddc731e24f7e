import { createHash, randomInt, timingSafeEqual } from 'node:crypto'

// Without letters and digits that look alike on a terminal.
const ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
const GROUPS = 3
const GROUP_LENGTH = 4

/** A code that an operator copies from the terminal, such as `7KQM-X2PD-VH9C`: 58 random bits. It is never stored. */
export function generateFirstAdminCode(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return Array.from({ length: GROUPS }, group).join('-')
}

/** Ignores case, spaces and hyphens. Takes the same time however much of the code is right. */
export function isSameCode(given: string, code: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(code))
}

function digestOf(code: string): Buffer {
  return createHash('sha256').update(code.toUpperCase().replaceAll(/[\s-]/g, '')).digest()
}
