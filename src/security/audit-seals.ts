import { createHmac, createSecretKey, hash, type KeyObject, randomUUID } from 'node:crypto'
import type { AuditMark, EventSeal, Seal, WrittenEvent } from '../model/audit.ts'
import type { StoredEvent } from '../model/event.ts'
import { deriveKeys, type Secrets } from './derived-keys.ts'
import { isSame } from './same-text.ts'

/** What an HMAC vouches for: an event as it was written, a link of the chain, or one of its ends. The kinds never match each other. */
type Sealed = 'event' | 'link' | 'anchor' | 'head'

/** `unknown`: it was made with a secret that this process does not have. */
type SealState = 'valid' | 'invalid' | 'unknown'

export type AuditSeals = ReturnType<typeof createAuditSeals>

/** The link that precedes the first one has this hash. */
export const NO_HASH = ''

// 128 bits: nobody can try out an HMAC.
const MAC_CHARACTERS = 22
const KEY_NAME_CHARACTERS = 8

/** Keys derived from SECRET_KEY seal; those of its fallbacks only check. */
export function createAuditSeals(secrets: Secrets) {
  const keys = deriveKeys(secrets, 'audit-seals')
  const byName = new Map(keys.map((key) => [nameOf(key), createSecretKey(key)]))
  const current = createSecretKey(keys[0])
  const currentKey = nameOf(keys[0])

  return {
    /** Names the current key. */
    currentKey,
    seal: (what: Sealed, content: string): Seal => ({ mac: macOf(current, what, content), macKey: currentKey }),
    check(what: Sealed, content: string, { mac, macKey }: Seal): SealState {
      const key = byName.get(macKey)
      if (key === undefined) return 'unknown'
      return isSame(mac, macOf(key, what, content)) ? 'valid' : 'invalid'
    },
  }
}

/** Random, and faster than random bytes, of which Node.js keeps no supply. */
export function createSalt(): string {
  return randomUUID()
}

/** Address and details enter the chain as this digest only, so that they can be erased. Without the salt, nobody can guess them. */
export function erasableDigest(salt: string, { ip, detail }: Pick<StoredEvent, 'ip' | 'detail'>): string {
  return sha256([salt, ip, detail])
}

/** The digest of a stored event. Without a salt, its address and details were erased. */
export function digestOf(event: Pick<WrittenEvent, 'salt' | 'ip' | 'detail'>): string {
  return erasableDigest(event.salt ?? '', event)
}

/** What the process that writes an event vouches for. */
export function eventContent(event: Omit<StoredEvent, 'id'>, digest: string): string {
  const { at, kind, actor, via, target, keyId, requestId } = event
  return JSON.stringify([at, kind, actor, via, target, keyId, requestId, digest])
}

/**
 * The hash of a link: it depends on its event and on every link before it. The HMAC of the event belongs to it: if that could be changed,
 * a copy of the event would no longer be recognised as one.
 */
export function linkHash(previousHash: string, link: Pick<EventSeal, 'position' | 'sealedAt' | 'digest'>, event: WrittenEvent): string {
  const { position, sealedAt, digest } = link
  return sha256([previousHash, position, sealedAt, event.id, event.mac, eventContent(event, digest)])
}

/** What the HMAC of an end of the chain vouches for. */
export function markContent({ position, hash, markedAt }: Pick<AuditMark, 'position' | 'hash' | 'markedAt'>): string {
  return JSON.stringify([position, hash, markedAt])
}

function macOf(key: KeyObject, what: Sealed, content: string): string {
  return createHmac('sha256', key).update(`${what}\n${content}`).digest('base64url').slice(0, MAC_CHARACTERS)
}

function nameOf(key: Buffer): string {
  return sha256(['name', key.toString('base64url')]).slice(0, KEY_NAME_CHARACTERS)
}

function sha256(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url')
}
