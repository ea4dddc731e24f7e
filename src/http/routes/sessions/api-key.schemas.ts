import { MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../../domain/values/limits.ts'
import type { ApiKey } from '../../../model/api-key.ts'
import { nameField } from '../../validation/fields.ts'
import { type Static, Type } from '../../validation/schema.ts'
import { UserId } from '../accounts/user.schemas.ts'

const KeyId = Type.String({ format: 'uuid', description: 'The id of a key.', examples: ['0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41'] })
const KeyName = nameField('What the key is for. Leading and trailing white space is removed.', 'Nightly export')
const Scope = Type.String({ minLength: 1, maxLength: SCOPE_MAX_LENGTH, examples: ['reports'] })
const IsActive = Type.Boolean({
  description: 'Whether the key is accepted. A key that is not active can be activated again.',
  examples: [true],
})

export const KeyPath = Type.Object({ key_id: KeyId })
export const UserKeyPath = Type.Object({ user_id: UserId, key_id: KeyId })

export const NewKeyBody = Type.Object(
  {
    name: KeyName,
    scopes: Type.Optional(
      Type.Array(Scope, {
        maxItems: MAX_SCOPES,
        nullable: true,
        default: [],
        description: 'Labels that are stored with the key. They do not restrict it. Without this field, or with null, the key has none.',
        examples: [['reports']],
      }),
    ),
  },
  { title: 'NewApiKey', description: 'A new key.' },
)
export const KeyChangesBody = Type.Object(
  { name: Type.Optional(KeyName), is_active: Type.Optional(IsActive) },
  { title: 'ApiKeyChanges', description: 'Omitted fields keep their values. At least one field is required.', atLeastOne: true },
)

const KEY_FIELDS = {
  id: KeyId,
  name: Type.String({ description: 'What the key is for.', examples: ['Nightly export'] }),
  created_at: Type.String({
    format: 'date-time',
    description: 'When the key was created, in UTC.',
    examples: ['2026-01-31T09:30:00.000Z'],
  }),
  is_active: IsActive,
  scopes: Type.Array(Type.String(), { description: 'The labels that are stored with the key.', examples: [['reports']] }),
}

export const KeyView = Type.Object(KEY_FIELDS, { title: 'ApiKey', description: 'A key, without its secret.' })
export const KeysView = Type.Array(KeyView)
/** The only view that contains the secret. */
export const NewKeyView = Type.Object(
  {
    ...KEY_FIELDS,
    key: Type.String({
      description: 'The secret: send it as `X-API-Key: …`. It is never shown again.',
      examples: ['lk_9Jf3mZq0sVb7TnXw2RkLh5YcUe8Gd1AoPi6Nt4MvQxE0a1B2c'],
    }),
  },
  { title: 'ApiKeyWithSecret', description: 'A new key, with its secret.' },
)

export function keyView({ id, name, createdAt, isActive, scopes }: ApiKey): Static<typeof KeyView> {
  return { id, name, created_at: new Date(createdAt).toISOString(), is_active: isActive, scopes: [...scopes] }
}
