import type { Schemas } from '../api.ts'
import type { CallOptions } from '../http.ts'
import type { Camel } from '../names.ts'
import { type Call, segment } from './call.ts'

/** A key, without its secret. */
export type ApiKey = Camel<Required<Schemas['ApiKey']>>
/** A key with its secret, which is shown only once. */
export type ApiKeyWithSecret = Camel<Required<Schemas['ApiKeyWithSecret']>>

type Expiry = {
  /** When the key expires; never if it is null. */
  readonly expiresAt?: Date | string | null | undefined
}
export type NewApiKey = Omit<Camel<Schemas['NewApiKey']>, 'expiresAt'> & Expiry
export type ApiKeyChanges = Omit<Camel<Schemas['ApiKeyChanges']>, 'expiresAt'> & Expiry
export type Rotation = Camel<Schemas['ApiKeyRotation']>

export type ApiKeyCalls = {
  list(options?: CallOptions): Promise<ApiKey[]>
  get(id: string, options?: CallOptions): Promise<ApiKey>
  /** The secret of the key is in `key`, and is never shown again. */
  create(key: NewApiKey, options?: CallOptions): Promise<ApiKeyWithSecret>
  update(id: string, changes: ApiKeyChanges, options?: CallOptions): Promise<ApiKey>
  /** Replaces the secret. The former one works until the overlap ends, and by default ends at once. */
  rotate(id: string, rotation?: Rotation, options?: CallOptions): Promise<ApiKeyWithSecret>
  delete(id: string, options?: CallOptions): Promise<void>
}

export function keyCalls(call: Call): ApiKeyCalls {
  const path = (id: string, action = '') => `/users/keys/${segment(id)}${action}?details=true`
  return {
    list: (options) => call<ApiKey[]>('GET', '/users/keys?details=true', undefined, options),
    get: async (id, options) => call<ApiKey>('GET', path(id), undefined, options),
    create: (key, options) => call<ApiKeyWithSecret>('POST', '/users/keys?details=true', key, options),
    update: async (id, changes, options) => call<ApiKey>('PATCH', path(id), changes, options),
    rotate: async (id, rotation = {}, options) => call<ApiKeyWithSecret>('POST', path(id, '/rotate'), rotation, options),
    delete: async (id, options) => call('DELETE', `/users/keys/${segment(id)}`, undefined, options),
  }
}
