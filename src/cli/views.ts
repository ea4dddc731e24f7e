import type { ApiKey } from '../model/api-key.ts'
import type { User } from '../model/user.ts'
import type { Format } from './output.ts'

/** Scripts get the names of the API, so that they need to know one set of names. */
export const USER_FORMAT: Format<User> = {
  columns: {
    ID: ({ id }) => String(id),
    EMAIL: ({ email }) => email,
    'FIRST NAME': ({ firstName }) => firstName,
    'LAST NAME': ({ lastName }) => lastName,
    ROLE: ({ role }) => role,
    STATE: ({ banned, verified }) => [verified ? 'verified' : 'unverified', ...(banned ? ['banned'] : [])].join(', '),
  },
  json: ({ id, email, firstName, lastName, role, banned, verified }) => ({
    id,
    email,
    first_name: firstName,
    last_name: lastName,
    role,
    banned,
    verified,
  }),
}

export const KEY_FORMAT: Format<ApiKey> = {
  columns: {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    CREATED: ({ createdAt }) => new Date(createdAt).toISOString(),
    STATE: ({ isActive }) => (isActive ? 'active' : 'disabled'),
    SCOPES: ({ scopes }) => scopes.join(', '),
  },
  json: ({ id, name, createdAt, isActive, scopes }) => ({
    id,
    name,
    created_at: new Date(createdAt).toISOString(),
    is_active: isActive,
    scopes,
  }),
}

/** A key with its secret, which is seen this once. */
export const NEW_KEY_FORMAT: Format<ApiKey & { readonly secret: string }> = {
  columns: { ID: ({ id }) => id, NAME: ({ name }) => name, KEY: ({ secret }) => secret },
  json: ({ secret, ...key }) => ({ ...KEY_FORMAT.json(key), key: secret }),
}
