import { randomUUID } from 'node:crypto'
import type { Actor, Origin } from '../../model/caller.ts'
import type { Passkey, PasskeyRow, RelyingParty } from '../../model/factor.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User } from '../../model/user.ts'
import { type Challenges, hashChallenge } from '../../security/challenges.ts'
import { asCredential, challengeOf, creationOptions, requestOptions, verifyNewPasskey, verifyPasskey } from '../../security/passkey.ts'
import { type Transaction, UniqueViolation } from '../../storage/database.ts'
import { confirmSession } from '../../storage/repositories/sessions/session.repository.ts'
import { endLoginChallenges, markUsed } from '../../storage/repositories/sign-in/factor.repository.ts'
import {
  countPasskeys,
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  renamePasskey,
  usePasskey,
} from '../../storage/repositories/sign-in/passkey.repository.ts'
import { requireCaller } from '../changes/callers.ts'
import { type ChangeTransaction, changeOwn, type DomainParts } from '../changes/changes.ts'
import { MAX_PASSKEYS } from '../values/limits.ts'
import type { WayInRule } from './way-in-rule.ts'

/** A passkey that has signed what it was asked to. */
export type PreparedPasskey = {
  readonly userId: number
  /** True for exactly one of any number of uses of one answer, in any process. */
  use(tx: Transaction): Promise<boolean>
}

/** A new passkey that has shown that it belongs to this service. */
export type NewPasskey = {
  /** Refuses all but one of any number of uses of one answer, in any process. */
  store(tx: ChangeTransaction, userId: number, name: string): Promise<Passkey>
}

/** Somebody who has no account yet. No account and nobody else has the same handle, by which devices tell accounts apart. */
type NewOwner = Pick<User, 'email' | 'firstName' | 'lastName'> & { readonly handle: string }

export type Passkeys = ReturnType<typeof createPasskeys>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  readonly challenges: Challenges
  readonly relyingParty: RelyingParty
  readonly wayInRule: Pick<WayInRule, 'requireWayIn'>
  /** Counts a passkey that was not accepted, without delaying the request. */
  readonly noteFailure: (userId: number, origin: Origin) => void
}

export function createPasskeys({ reads, changes, now, challenges, relyingParty, wayInRule, noteFailure }: Parts) {
  const subjectOf = (loginChallenge: string | undefined) =>
    loginChallenge === undefined ? 'sign in' : `second step of ${hashChallenge(loginChallenge)}`
  const additionBy = ({ caller }: Actor) => `add to ${caller.user.id}`
  const additionFor = ({ handle }: Pick<NewOwner, 'handle'>) => `first of ${handle}`

  function optionsFor({ handle, email, firstName, lastName }: NewOwner, subject: string, existing: readonly PasskeyRow[]) {
    const user = { handle: Buffer.from(handle).toString('base64url'), email, displayName: `${firstName} ${lastName}` }
    return creationOptions(relyingParty, challenges.issue(subject), user, existing)
  }

  async function prepareNew(given: object, subject: string): Promise<NewPasskey> {
    const credential = asCredential(given)
    if (credential === undefined) throw new Refusal('invalid_passkey', 'its shape')
    const challenge = challengeOf(credential) ?? ''
    const asked = challenges.read(challenge, subject)
    if (asked === undefined) throw new Refusal('invalid_passkey', 'the challenge')
    const verified = await verifyNewPasskey(relyingParty, credential, challenge)
    if (verified === undefined) throw new Refusal('invalid_passkey')
    return {
      async store(tx, userId, name) {
        if (!(await markUsed(tx, asked.id, asked.expiresAt))) throw new Refusal('invalid_passkey', 'the challenge was used')
        const passkey = { id: randomUUID(), name, createdAt: now(), userId, ...verified }
        await insertPasskey(tx, passkey)
        await countPasskeys(tx, userId)
        tx.record({ kind: 'passkey.added', target: userId })
        return passkey
      },
    }
  }

  return {
    list: (userId: number): Promise<readonly Passkey[]> => listPasskeys(reads, userId),
    /** What a browser needs to create a passkey. */
    async creationOptions(actor: Actor) {
      const user = await requireCaller(reads, actor.caller, now())
      const existing = await listPasskeys(reads, user.id)
      if (existing.length >= MAX_PASSKEYS) throw new Refusal('too_many_passkeys')
      return optionsFor({ ...user, handle: String(user.id) }, additionBy(actor), existing)
    },
    async add(actor: Actor, name: string, given: object): Promise<Passkey> {
      const { user, sessionId = '' } = actor.caller
      await requireCaller(reads, actor.caller, now())
      const prepared = await prepareNew(given, additionBy(actor))
      const change = changeOwn(changes, actor, async (tx, { passkeys }) => {
        if (passkeys >= MAX_PASSKEYS) throw new Refusal('too_many_passkeys')
        const passkey = await prepared.store(tx, user.id, name)
        // The authenticator has just verified its user.
        await confirmSession(tx, sessionId, { at: now(), withFactor: true })
        return passkey
      })
      return refusingKnownPasskey(change)
    },
    /** What a browser needs to create the first passkey of an account that is yet to be created. */
    firstOptions: (owner: NewOwner) => optionsFor(owner, additionFor(owner), []),
    /** Verifies an answer to firstOptions(). */
    prepareFirst: (owner: Pick<NewOwner, 'handle'>, given: object) => prepareNew(given, additionFor(owner)),
    rename: (actor: Actor, id: string, name: string): Promise<Passkey> =>
      changeOwn(changes, actor, async (tx) => {
        const renamed = await renamePasskey(tx, actor.caller.user.id, id, name)
        if (renamed === undefined) throw new Refusal('passkey_not_found')
        return renamed
      }),
    /** Refuses to take the last way in. */
    remove: (actor: Actor, id: string): Promise<void> =>
      changeOwn(changes, actor, async (tx) => {
        const { id: userId } = actor.caller.user
        if (!(await deletePasskey(tx, userId, id))) throw new Refusal('passkey_not_found')
        await countPasskeys(tx, userId)
        await wayInRule.requireWayIn(tx, userId)
        await endLoginChallenges(tx, userId)
        tx.record({ kind: 'passkey.removed', target: userId })
      }),
    /** What a browser needs to ask for any passkey. With the challenge of a login, the answer is its second step, and nothing else. */
    requestOptions: (loginChallenge?: string) => requestOptions(relyingParty, challenges.issue(subjectOf(loginChallenge))),
    /** Verifies an answer to requestOptions(). Undefined if it is not accepted; its owner's trail then says so. */
    async prepare(origin: Origin, given: object, loginChallenge?: string): Promise<PreparedPasskey | undefined> {
      const credential = asCredential(given)
      const passkey = credential && (await findPasskey(reads, credential.id))
      if (credential === undefined || passkey === undefined) return undefined
      const challenge = challengeOf(credential) ?? ''
      const asked = challenges.read(challenge, subjectOf(loginChallenge))
      const verified = asked && (await verifyPasskey(relyingParty, credential, challenge, passkey))
      if (asked === undefined || verified === undefined) {
        noteFailure(passkey.userId, origin)
        return undefined
      }
      const { counter, backedUp } = verified
      return {
        userId: passkey.userId,
        async use(tx) {
          const isUsed = (await markUsed(tx, asked.id, asked.expiresAt)) && (await usePasskey(tx, passkey.id, counter, backedUp, now()))
          if (!isUsed) noteFailure(passkey.userId, origin)
          return isUsed
        },
      }
    },
  }
}

/** Waits for a change that stores a new passkey. */
export async function refusingKnownPasskey<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change
  } catch (error) {
    if (error instanceof UniqueViolation) throw new Refusal('invalid_passkey', 'the passkey is known already', { cause: error })
    throw error
  }
}
