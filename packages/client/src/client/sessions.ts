import type { Schemas } from '../api.ts'
import type { CallOptions } from '../http.ts'
import type { Camel } from '../names.ts'
import { type Call, segment } from './call.ts'

/** One login or registration of the user. */
export type UserSession = Camel<Schemas['Session']>

export type SessionCalls = {
  /** Newest first. `current` marks the session of this client. */
  list(options?: CallOptions): Promise<UserSession[]>
  /** Ends a session: its tokens stop working with their next request. */
  revoke(id: string, options?: CallOptions): Promise<void>
  /** Ends all sessions of the user but the one of this client. */
  revokeOthers(options?: CallOptions): Promise<void>
}

export function sessionCalls(call: Call): SessionCalls {
  return {
    list: (options) => call<UserSession[]>('GET', '/users/me/sessions', undefined, options),
    revoke: async (id, options) => call('DELETE', `/users/me/sessions/${segment(id)}`, undefined, options),
    revokeOthers: (options) => call('DELETE', '/users/me/sessions', undefined, options),
  }
}
