import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Seal, WrittenEvent } from '../model/audit.ts'
import type { StoredEvent } from '../model/event.ts'
import { deriveKeys, type Secrets } from './derived-keys.ts'

/** What an HMAC vouches for: an event as it was written, a link of the chain, or one of its ends. The kinds never match each other. */
type Sealed = 'event' | 'link' | 'anchor' | 'head'

/** `unknown`: it was made with a secret that this process does not have. */
export type SealState = 'valid' | 'invalid' | 'unknown'

export type AuditSeals = {
  /** Names the current key. */
  readonly currentKey: string
  seal(what: Sealed, content: string): Seal
  check(what: Sealed, content: string, seal: Seal): SealState
}

/** An event before it has an id. */
export type UnnumberedEvent = Omit<StoredEvent, 'id'>

/** The link that precedes the first one has this hash. */
export const NO_HASH = ''

// 128 bits: nobody can try out an HMAC.
const MAC_CHARACTERS = 22
const KEY_NAME_CHARACTERS = 8
const SALT_BYTES = 12

/** Keys derived from SECRET_KEY seal; those of its fallbacks only check. */
export function createAuditSeals(secrets: Secrets): AuditSeals {
  const keys = deriveKeys(secrets, 'audit-seals')
  const [current] = keys
  const byName = new Map([...keys].reverse().map((key) => [nameOf(key), key]))

  return {
    currentKey: nameOf(current),
    seal: (what, content) => ({ mac: macOf(current, what, content), macKey: nameOf(current) }),
    check(what, content, { mac, macKey }) {
      const key = byName.get(macKey)
      if (key === undefined) return 'unknown'
      const expected = Buffer.from(macOf(key, what, content))
      const given = Buffer.from(mac)
      return given.length === expected.length && timingSafeEqual(given, expected) ? 'valid' : 'invalid'
    },
  }
}

export function createSalt(): string {
  return randomBytes(SALT_BYTES).toString('base64url')
}

/** Address and details enter the chain as this digest only, so that they can be erased. Without the salt, nobody can guess them. */
export function erasableDigest(salt: string, { ip, detail }: Pick<StoredEvent, 'ip' | 'detail'>): string {
  return sha256([salt, ip, detail])
}

/** What the process that writes an event vouches for. */
export function eventContent(event: UnnumberedEvent, digest: string): string {
  const { at, kind, actor, via, target, keyId, requestId } = event
  return JSON.stringify([at, kind, actor, via, target, keyId, requestId, digest])
}

export type Link = { readonly position: number; readonly sealedAt: number; readonly digest: string }

/**
 * The hash of a link: it depends on its event and on every link before it. The HMAC of the event belongs to it: if that could be changed,
 * a copy of the event would no longer be recognised as one.
 */
export function linkHash(previousHash: string, { position, sealedAt, digest }: Link, event: Omit<WrittenEvent, 'macKey'>): string {
  return sha256([previousHash, position, sealedAt, event.id, event.mac, eventContent(event, digest)])
}

/** What the HMAC of an end of the chain vouches for. */
export function markContent({ position, hash, markedAt }: { position: number; hash: string; markedAt: number }): string {
  return JSON.stringify([position, hash, markedAt])
}

function macOf(key: Buffer, what: Sealed, content: string): string {
  return createHmac('sha256', key).update(`${what}\n${content}`).digest('base64url').slice(0, MAC_CHARACTERS)
}

function nameOf(key: Buffer): string {
  return sha256(['name', key.toString('base64url')]).slice(0, KEY_NAME_CHARACTERS)
}

function sha256(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
