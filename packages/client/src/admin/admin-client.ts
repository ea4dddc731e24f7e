import type { Schemas } from '../api.ts'
import { type Call, segment, sendTo } from '../client/call.ts'
import type { ApiKey, ApiKeyChanges, ApiKeyWithSecret, NewApiKey } from '../client/keys.ts'
import { bodyOf, type CallOptions, type Fetch, withoutSlash } from '../http.ts'
import { type Camel, toCamel, toSnake } from '../names.ts'

export type AdminClientOptions = {
  /** The URL of Latchkey, as this service reaches it. */
  readonly url: string
  /** An API key of an admin, with full access. It belongs on a server, never in a page. */
  readonly key: string
  readonly fetch?: Fetch | undefined
}

/** A user, as admins see it. */
export type User = Camel<Schemas['User']>
export type NewUser = Camel<Schemas['NewUser']>
export type UserEdit = Camel<Schemas['UserEdit']>
export type FoundUsers = Omit<Schemas['FoundUsers'], 'items'> & { readonly items: User[] }
export type UserSearch = {
  /** Empty for every user. */
  readonly searchTerm: string
  readonly field?: 'all' | 'email' | 'first_name' | 'last_name'
  readonly exactMatch?: boolean
  /** From 1. */
  readonly page?: number
  readonly size?: number
}

type Act = (id: number, options?: CallOptions) => Promise<void>

export type UserCalls = {
  /** Without a password, nobody can log in until a reset sets one. The address counts as verified unless `verified` is false. */
  create(user: NewUser, options?: CallOptions): Promise<User>
  get(id: number, options?: CallOptions): Promise<User>
  /** One page, in order of id. */
  search(search: UserSearch, options?: CallOptions): Promise<FoundUsers>
  /** Returns what users see of themselves. What is left out stays as it is. */
  update(id: number, changes: UserEdit, options?: CallOptions): Promise<Camel<Schemas['Profile']>>
  /** Ends all sessions of the user. */
  setPassword(id: number, password: string, options?: CallOptions): Promise<void>
  readonly verify: Act
  readonly makeAdmin: Act
  readonly revokeAdmin: Act
  readonly ban: Act
  readonly unban: Act
  readonly delete: Act
}

/** The API keys of any user. */
export type UserKeyCalls = {
  list(userId: number, options?: CallOptions): Promise<ApiKey[]>
  /** The secret of the key is in `key`, and is never shown again. */
  create(userId: number, key: NewApiKey, options?: CallOptions): Promise<ApiKeyWithSecret>
  update(userId: number, id: string, changes: ApiKeyChanges, options?: CallOptions): Promise<ApiKey>
  delete(userId: number, id: string, options?: CallOptions): Promise<void>
}

export type AdminClient = { readonly users: UserCalls; readonly keys: UserKeyCalls }

/** Manages the accounts of a service from its back end. */
export function createAdminClient({ url, key, fetch = globalThis.fetch }: AdminClientOptions): AdminClient {
  const base = withoutSlash(url)
  const credential = { 'x-api-key': key }
  async function call<Result>(method: string, path: string, fields?: object, options: CallOptions = {}): Promise<Result> {
    const body = await bodyOf(await sendTo(fetch, base, { method, path, fields, credential }, options), options.signal)
    return (body === undefined ? undefined : toCamel(body)) as Result
  }
  return { users: userCalls(call), keys: userKeyCalls(call) }
}

function userCalls(call: Call): UserCalls {
  const path = (id: number, action = '') => `/users/${segment(String(id))}${action}`
  const act =
    (action: string): Act =>
    async (id, options) =>
      call('POST', path(id, action), undefined, options)
  return {
    create: (user, options) => call<User>('POST', '/users/', user, options),
    get: async (id, options) => call<User>('GET', `/users/?user_id=${segment(String(id))}`, undefined, options),
    async search(search, options) {
      const query = new URLSearchParams(Object.entries(toSnake(search)).map(([name, value]) => [name, String(value)]))
      const found = await call<Schemas['FoundUsers']>('GET', `/users/search?${query}`, undefined, options)
      return { ...found, items: toCamel(found.items) }
    },
    update: async (id, changes, options) => call<Camel<Schemas['Profile']>>('PUT', path(id), changes, options),
    setPassword: async (id, password, options) => call('POST', path(id, '/password'), { password }, options),
    verify: act('/verify'),
    makeAdmin: act('/make-admin'),
    revokeAdmin: act('/revoke-admin'),
    ban: act('/ban'),
    unban: act('/unban'),
    delete: async (id, options) => call('DELETE', path(id), undefined, options),
  }
}

function userKeyCalls(call: Call): UserKeyCalls {
  const path = (userId: number, id?: string) =>
    `/users/keys/by-user/${segment(String(userId))}${id === undefined ? '' : `/${segment(id)}`}?details=true`
  return {
    list: async (userId, options) => call<ApiKey[]>('GET', path(userId), undefined, options),
    create: async (userId, key, options) => call<ApiKeyWithSecret>('POST', path(userId), key, options),
    update: async (userId, id, changes, options) => call<ApiKey>('PATCH', path(userId, id), changes, options),
    delete: async (userId, id, options) => call('DELETE', path(userId, id), undefined, options),
  }
}
