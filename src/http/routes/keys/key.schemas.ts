import type { KeyWithSecret, NewApiKey } from '../../../domain/keys/keys.service.ts'
import { MAX_OVERLAP_SECONDS, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { type ApiKey, type ApiKeyChanges, KEY, KEY_VIEW, type KeyAccess } from '../../../model/api-key.ts'
import { defaulted, flag, instant, integer, nameField, type Static, Type, text } from '../../validation/schema.ts'
import { UserId } from '../users/user.schemas.ts'

export const KEY_EXAMPLE = 'lk_9Jf3mZq0sVb7TnXw2RkLh5YcUe8Gd1AoPi6Nt4MvQxE0a1B2c'
const KeyId = text('The id of a key.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41', { format: 'uuid' })
const KeyName = nameField('What the key is for. Leading and trailing white space is removed.', 'Nightly export')
const Scope = Type.String({ minLength: 1, maxLength: SCOPE_MAX_LENGTH, examples: ['reports'] })
const IsActive = flag('Whether the key is accepted. A key that is not active can be activated again.', true)

export const KeyPath = Type.Object({ key_id: KeyId })
export const UserKeyPath = Type.Object({ user_id: UserId, key_id: KeyId })

const ACCESS: readonly KeyAccess[] = ['full', 'read', 'identify']
const KeyAccessName = Type.Enum([...ACCESS], {
  default: 'full',
  description:
    'What the key may call: `full` everything that its owner may call, `read` only GET endpoints, `identify` only endpoints that say who is calling.',
})
function keyLimit(description: string, rule: 'nullable' | 'clearable') {
  const LimitText = text(description, '10/m', { format: 'limit', maxLength: 12, [rule]: true })
  return Type.Optional(Type.Unsafe<string | null>(LimitText))
}

const EXPIRY_EXAMPLE = '2027-01-31T09:30:00.000Z'

export const DetailsQuery = Type.Object({
  details: defaulted(
    Type.Boolean({
      default: false,
      description: 'Whether to add `prefix`, `access`, `expires_at`, `last_used_at`, `limit` and `retiring_until`.',
    }),
  ),
})

export const NewKeyBody = Type.Object(
  {
    name: KeyName,
    scopes: Type.Optional(
      Type.Array(Scope, {
        maxItems: MAX_SCOPES,
        nullable: true,
        default: [],
        description:
          'Labels that are stored with the key. They do not restrict it. Where KEY_SCOPES is set, others are refused. Without this field, or with null, the key has none.',
        examples: [['reports']],
      }),
    ),
    access: defaulted(KeyAccessName),
    expires_at: Type.Optional(
      instant<null>(
        'When the key expires: ISO 8601 with an offset, in the future. Without this field, or with null, it does not expire.',
        EXPIRY_EXAMPLE,
        { nullable: true },
      ),
    ),
    limit: keyLimit(
      'How often services accept the key, such as `10/m`: a number per s, m, h or d. The limits of the plan apply too. Without this field, or with null, only those.',
      'nullable',
    ),
  },
  { title: 'NewApiKey', description: 'A new key.' },
)
export const KeyChangesBody = Type.Object(
  {
    name: Type.Optional(KeyName),
    is_active: Type.Optional(IsActive),
    expires_at: Type.Optional(
      instant<null>('When the key expires: ISO 8601 with an offset, in the future. With null, it does not expire.', EXPIRY_EXAMPLE, {
        clearable: true,
      }),
    ),
    limit: keyLimit('How often services accept the key, such as `10/m`. With null, only the limits of the plan apply.', 'clearable'),
  },
  { title: 'ApiKeyChanges', description: 'Omitted fields keep their values. At least one field is required.', atLeastOne: true },
)

export const RotationBody = Type.Object(
  {
    overlap_seconds: defaulted(
      integer('How long the former secret continues to work. With 0, all former secrets end at once.', 3600, {
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        default: 0,
      }),
    ),
  },
  { title: 'ApiKeyRotation', description: 'How to replace the secret of a key. The body can be left out.', mayBeAbsent: true },
)

function instantView(description: string, example: string) {
  return Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description, examples: [example] }))
}

const DETAIL_FIELDS = {
  prefix: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The first nine characters of the secret. Null for a key of an older version. Only with `details=true`, as all below.',
      examples: ['lk_9Jf3mZ'],
    }),
  ),
  access: Type.Optional(Type.Enum([...ACCESS], { description: 'What the key may call.' })),
  expires_at: instantView('When the key expires. Null if it does not.', EXPIRY_EXAMPLE),
  last_used_at: instantView('When the key was last used, to the minute. Null if it never was.', '2026-02-01T08:00:00.000Z'),
  limit: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'How often services accept the key. Null if only the plan limits it.',
      examples: ['10/m'],
    }),
  ),
  retiring_until: instantView('When the last former secret of the key stops working. Null if none works.', '2026-02-01T09:30:00.000Z'),
}

const KEY_FIELDS = {
  id: KeyId,
  name: text('What the key is for.', 'Nightly export'),
  created_at: text('When the key was created, in UTC.', '2026-01-31T09:30:00.000Z', { format: 'date-time' }),
  is_active: IsActive,
  scopes: Type.Array(Type.String(), { description: 'The labels that are stored with the key.', examples: [['reports']] }),
}

export const KeyView = Type.Object({ ...KEY_FIELDS, ...DETAIL_FIELDS }, { title: 'ApiKey', description: 'A key, without its secret.' })
export const KeysView = Type.Array(KeyView)
/** The only view that contains the secret. */
export const NewKeyView = Type.Object(
  {
    ...KEY_FIELDS,
    ...DETAIL_FIELDS,
    key: text('The secret: send it as `X-API-Key: …`. It is never shown again.', KEY_EXAMPLE),
  },
  { title: 'ApiKeyWithSecret', description: 'A key with a new secret.' },
)

export function newKey({ name, scopes, access, expires_at, limit }: Static<typeof NewKeyBody>): NewApiKey {
  return { name, scopes: scopes ?? [], access, expiresAt: expires_at ?? undefined, limit: limit ?? undefined }
}

export function keyChanges({ name, is_active, expires_at, limit }: Static<typeof KeyChangesBody>): ApiKeyChanges {
  return { name, isActive: is_active, expiresAt: expires_at, limit }
}

/** The view of a key; with details, the fields beyond the specified ones too. */
export function keyView(key: ApiKey, { details }: Static<typeof DetailsQuery>): Static<typeof KeyView> {
  return (details ? KEY : KEY_VIEW).toJson(key)
}

export function newKeyView(key: KeyWithSecret, query: Static<typeof DetailsQuery>): Static<typeof NewKeyView> {
  return { ...keyView(key, query), key: key.secret }
}
