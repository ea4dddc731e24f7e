import { Type } from 'typebox'
import { MAX_SCOPES, SCOPE_MAX_LENGTH } from '../domain/limits.ts'
import type { ApiKey } from '../model/api-key.ts'
import { Name } from './fields.ts'
import { UserId } from './user.schemas.ts'

const KeyId = Type.String({ format: 'uuid' })
const Scope = Type.String({ minLength: 1, maxLength: SCOPE_MAX_LENGTH })

export const KeyPath = Type.Object({ key_id: KeyId })
export const UserKeyPath = Type.Object({ user_id: UserId, key_id: KeyId })

export const NewKeyBody = Type.Object({
  name: Name,
  scopes: Type.Optional(Type.Array(Scope, { maxItems: MAX_SCOPES, nullable: true, default: [] })),
})
export const KeyChangesBody = Type.Object({ name: Type.Optional(Name), is_active: Type.Optional(Type.Boolean()) }, { atLeastOne: true })

const KEY_FIELDS = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  is_active: Type.Boolean(),
  scopes: Type.Array(Type.String()),
}

export const KeyView = Type.Object(KEY_FIELDS)
export const KeysView = Type.Array(KeyView)
/** The key itself is seen here, once. */
export const NewKeyView = Type.Object({ ...KEY_FIELDS, key: Type.String() })

export function keyView({ id, name, createdAt, isActive, scopes }: ApiKey): Type.Static<typeof KeyView> {
  return { id, name, created_at: new Date(createdAt).toISOString(), is_active: isActive, scopes: [...scopes] }
}
