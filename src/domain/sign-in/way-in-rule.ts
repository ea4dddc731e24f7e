import { isIssuerOf, type ProviderSettings } from '../../model/provider.ts'
import { Refusal } from '../../model/refusal.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import type { Reads, Transaction } from '../../storage/database.ts'
import { listConnected } from '../../storage/repositories/sign-in/identity.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'

export type WayInRule = ReturnType<typeof createWayInRule>

type Parts = {
  readonly providers: readonly Pick<ProviderSettings, 'name' | 'issuer'>[]
  /** What opens an account besides a password and a provider. */
  readonly hasPasskeys: boolean
  readonly hasEmailSignIn: boolean
}

/** Which ways into an account there are. Nobody may take the last one. */
export function createWayInRule({ providers, hasPasskeys, hasEmailSignIn }: Parts) {
  /** The names of the providers that open an account: one that the settings no longer name, or that has another issuer now, opens nothing. */
  async function usableProviders(db: Reads, userId: number): Promise<readonly string[]> {
    const connected = await listConnected(db, userId)
    const opens = ({ name, issuer }: Pick<ProviderSettings, 'name' | 'issuer'>) =>
      connected.some((identity) => identity.provider === name && isIssuerOf(issuer, identity.issuer))
    return providers.filter(opens).map(({ name }) => name)
  }

  return {
    usableProviders,
    /** For the end of a change that takes a way in. Refuses if nothing opens the account any more. */
    async requireWayIn(tx: Transaction, userId: number): Promise<void> {
      if (hasEmailSignIn) return
      const { passwordHash = NO_PASSWORD, passkeys = 0 } = (await findUserById(tx, userId)) ?? {}
      if (passwordHash !== NO_PASSWORD || (hasPasskeys && passkeys > 0)) return
      if ((await usableProviders(tx, userId)).length === 0) throw new Refusal('only_way_in')
    },
  }
}
