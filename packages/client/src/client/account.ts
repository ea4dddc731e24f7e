import type { Schemas } from '../api.ts'
import type { CallOptions } from '../http.ts'
import type { Camel } from '../names.ts'
import type { Call } from './call.ts'
import type { Change } from './changes.ts'
import type { TokenStorage } from './tokens.ts'

/** The account of the user who is logged in. */
export type Account = Camel<Required<Omit<Schemas['OwnAccount'], 'language'>> & Pick<Schemas['OwnAccount'], 'language'>>
export type Profile = Camel<Schemas['Profile']>
export type ProfileChanges = Pick<Camel<Schemas['UserEdit']>, 'firstName' | 'lastName' | 'language'>
export type PasswordChange = Camel<Schemas['PasswordChange']>

export type AccountCalls = {
  /** The user who is logged in. */
  me(options?: CallOptions): Promise<Account>
  /** Changes the names, and the language of pages and mails. What is left out stays as it is. */
  updateProfile(changes: ProfileChanges, options?: CallOptions): Promise<Profile>
  /** Returns the profile. It has the former address if the service confirms a new one by mail first. */
  changeEmail(email: string, options?: CallOptions): Promise<Profile>
  /** Ends all other sessions. An account without a password leaves `currentPassword` out. */
  changePassword(change: PasswordChange, options?: CallOptions): Promise<void>
  /** Deletes the account, where the service permits it, and removes the tokens from the storage. */
  deleteAccount(password: string, options?: CallOptions): Promise<void>
}

export function accountCalls(call: Call, storage: TokenStorage, report: (change: Change) => void): AccountCalls {
  async function edit(fields: object, options?: CallOptions): Promise<Profile> {
    const profile = await call<Profile>('PUT', '/users/me', fields, options)
    report('account')
    return profile
  }

  return {
    me: (options) => call<Account>('GET', '/users/me?details=true', undefined, options),
    updateProfile: ({ firstName, lastName, language }, options) => edit({ firstName, lastName, language }, options),
    changeEmail: (email, options) => edit({ email }, options),
    changePassword: (change, options) => call('POST', '/users/me/password', change, options),
    async deleteAccount(password, options) {
      await call('DELETE', '/users/me', { password }, options)
      await storage.set(null)
    },
  }
}
