import { choice, computed, entity, flag, instant, integer, optional, storedAs, text, texts, type ValuesOf } from './entity.ts'

/** The routes that a key may call: every route of its owner, routes that only read, or only routes that identify the caller. */
export type KeyAccess = 'full' | 'read' | 'identify'

/** The view of the specification. */
export const KEY_VIEW = entity('api_keys', { id: text, name: text, createdAt: instant, isActive: flag, scopes: texts })
export const KEY = entity('api_keys', {
  ...KEY_VIEW.fields,
  // The first characters of the key. Unknown for keys of older versions.
  prefix: optional(text),
  access: choice<KeyAccess>('full', 'read', 'identify'),
  expiresAt: optional(instant),
  lastUsedAt: optional(instant),
  // A limit such as `10/m`, besides those of the plan of its owner.
  limit: optional(storedAs('call_limit', text)),
  // When the last secret that a rotation replaced stops working.
  retiringUntil: computed(
    optional(instant),
    '(select max(retiring_secrets.expires_at) from retiring_secrets where retiring_secrets.key_id = api_keys.id)',
  ),
})
/** A whole row, without the number that the database gives it. */
export const KEY_ROW = entity('api_keys', { ...KEY.fields, userId: integer, keyHash: text })
/** A key with its number and its owner, as admins see it in a list: of a row that is joined with its user. */
export const OWNED_KEY = entity('api_keys', {
  ...KEY.fields,
  seq: integer,
  ownerId: computed(integer, 'users.id'),
  ownerEmail: computed(text, 'users.email'),
})
/** A secret that a rotation has replaced, and that works until it expires. */
export const RETIRING_SECRET = entity('retiring_secrets', { keyHash: text, keyId: text, retiredAt: instant, expiresAt: instant })

export type ApiKey = ValuesOf<typeof KEY.fields>
export type OwnedApiKey = ValuesOf<typeof OWNED_KEY.fields>
export type KeyRow = ValuesOf<typeof KEY_ROW.fields>
export type RetiringSecret = ValuesOf<typeof RETIRING_SECRET.fields>

/** What is left out stays as it is. */
export type ApiKeyChanges = {
  readonly name?: string | undefined
  readonly isActive?: boolean | undefined
  /** Null removes the expiry. */
  readonly expiresAt?: number | null | undefined
  /** Null removes the limit. */
  readonly limit?: string | null | undefined
}
