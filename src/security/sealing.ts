import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { DerivedKeys } from './derived-keys.ts'

const ALGORITHM = 'aes-256-gcm'
const VERSION = 'v1.'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts text that is stored in the database, so that a copy of the database without SECRET_KEY does not reveal it. AES-256-GCM with a
 * random nonce: version, then base64url of the nonce, the tag and the encrypted text.
 */
export function createSealer(keys: DerivedKeys) {
  return {
    /** The label, such as the id of the row, is part of the encryption: the result cannot be opened under another label. */
    seal(text: string, label: string): string {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, keys[0], nonce).setAAD(Buffer.from(label))
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return VERSION + Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url')
    },
    /** Undefined if none of the secrets opens it. If it is not the current one, the text should be sealed again. */
    open(sealed: string, label: string): { readonly text: string; readonly isCurrent: boolean } | undefined {
      for (const [index, key] of keys.entries()) {
        const text = decrypt(sealed, label, key)
        if (text !== undefined) return { text, isCurrent: index === 0 }
      }
      return undefined
    },
  }
}

function decrypt(sealed: string, label: string, key: Buffer): string | undefined {
  if (!sealed.startsWith(VERSION)) return undefined
  const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const tagEnd = NONCE_BYTES + TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(label)).setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
