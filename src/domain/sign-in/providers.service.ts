import { randomBytes } from 'node:crypto'
import type { Actor, Origin } from '../../model/caller.ts'
import type { Identity, IdentityRow, ProvenIdentity, Provider, ProviderFlow } from '../../model/provider.ts'
import { Refusal } from '../../model/refusal.ts'
import { hashChallenge } from '../../security/challenges.ts'
import type { ProviderClient } from '../../security/providers/oidc.ts'
import { isSame } from '../../security/same-text.ts'
import { endLoginChallenges, markUsed } from '../../storage/repositories/sign-in/factor.repository.ts'
import { deleteIdentity, findIdentityOwner, listIdentities } from '../../storage/repositories/sign-in/identity.repository.ts'
import { changeOwn, type DomainParts } from '../changes/changes.ts'
import { connect } from './provider-accounts.ts'
import type { WayInRule } from './way-in-rule.ts'

export type Providers = ReturnType<typeof createProviders>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** In the order of the settings. */
  readonly providers: readonly (Provider & { readonly client: ProviderClient })[]
  readonly wayInRule: WayInRule
}

/** Signing in at a provider may include a password and a second factor there. */
const FLOW_MS = 15 * 60_000

/** The accounts of other providers that open accounts here. */
export function createProviders({ reads, changes, now, providers, wayInRule }: Parts) {
  function find(name: string) {
    const provider = providers.find((one) => one.name === name)
    if (provider === undefined) throw new Refusal('provider_not_found')
    return provider
  }

  return {
    find: (name: string): Provider => find(name),
    /** The providers that open the account, of those that the settings name. */
    async usable(userId: number): Promise<readonly Provider[]> {
      const names = await wayInRule.usableProviders(reads, userId)
      return providers.filter(({ name }) => names.includes(name))
    },
    list: (userId: number): Promise<readonly Identity[]> => listIdentities(reads, userId),
    /** The id of the account that an identity opens. */
    ownerOf: ({ issuer, subject }: ProvenIdentity) => findIdentityOwner(reads, issuer, subject),
    /** Returns the address at the provider, and what the browser keeps until it comes back. */
    async begin(
      name: string,
      redirectUri: string,
      options: { readonly choosesAccount: boolean },
    ): Promise<{ url: URL; flow: ProviderFlow }> {
      const { name: provider, client } = find(name)
      const random = () => randomBytes(32).toString('base64url')
      const flow = { provider, state: random(), nonce: random(), verifier: random(), expiresAt: now() + FLOW_MS }
      return { url: await client.begin({ ...flow, redirectUri }, options), flow }
    },
    /** Returns who somebody is, once for each flow in any process. Refuses what another browser has begun. */
    async complete(origin: Origin, name: string, flow: ProviderFlow | undefined, redirectUri: string, answer: URLSearchParams) {
      const { name: provider, client } = find(name)
      const state = answer.get('state') ?? ''
      if (flow === undefined || flow.provider !== provider || flow.expiresAt <= now() || !isSame(state, flow.state))
        throw new Refusal('sign_in_ended', 'the browser has no such flow')
      const isFirst = await changes.withoutCaller(origin, (tx) => markUsed(tx, hashChallenge(flow.state), flow.expiresAt))
      if (!isFirst) throw new Refusal('sign_in_ended', 'the flow was completed before')
      return client.complete({ ...flow, redirectUri }, answer)
    },
    /** Connects an identity that was proven in this browser to the account of the caller, whom another identity may have let in. */
    connect: (actor: Actor, identity: Pick<IdentityRow, 'provider' | 'issuer' | 'subject' | 'email'>): Promise<void> =>
      changeOwn(changes, actor, async (tx, { id }) => {
        if (!(await connect(tx, id, identity, now()))) throw new Refusal('provider_taken')
      }),
    /** Refuses to take the last way in. */
    disconnect: (actor: Actor, name: string): Promise<void> =>
      changeOwn(changes, actor, async (tx, { id }) => {
        if (!(await deleteIdentity(tx, id, name))) throw new Refusal('provider_not_found')
        await wayInRule.requireWayIn(tx, id)
        await endLoginChallenges(tx, id)
        tx.record({ kind: 'provider.disconnected', target: id, changed: [name] })
      }),
  }
}
