import { hash } from 'node:crypto'
import type { Actor, Origin } from '../../model/caller.ts'
import type { HandOff } from '../../model/factor.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateChallenge, hashChallenge } from '../../security/challenges.ts'
import { isSame } from '../../security/same-text.ts'
import { findSessionMethod, findSessionUser } from '../../storage/repositories/sessions/session.repository.ts'
import { deleteHandOff, findHandOff, insertHandOff, markHandOffUsed } from '../../storage/repositories/sign-in/hand-off.repository.ts'
import { lockAccounts } from '../../storage/repositories/users/user.repository.ts'
import { type ChangeTransaction, changeOwn, type DomainParts } from '../changes/changes.ts'
import { endSession, openKnownSession, type TokenPair } from '../sessions/sessions.service.ts'

export type HandOffs = ReturnType<typeof createHandOffs>

const LIFETIME_MS = 60_000

/** Hands a person who has signed in on the pages to the product: with a code, which only the page that began the sign-in can exchange. */
export function createHandOffs({ reads, changes, tokens, now }: Pick<DomainParts, 'reads' | 'changes' | 'tokens' | 'now'>) {
  /** The session that a code opens, in the transaction that holds the account. Undefined if it opens none. */
  async function open(tx: ChangeTransaction, origin: Origin, { id, userId, sessionId }: HandOff): Promise<TokenPair | undefined> {
    const found = await findSessionUser(tx, sessionId, userId, now())
    if (found === undefined || found.user.banned || !found.user.verified) return undefined
    const { secondFactor, confirmedAt } = found
    const method = (await findSessionMethod(tx, sessionId)) ?? 'password'
    // The person has shown nothing since: the new session knows what the one of the pages knows, and nothing fresher.
    const opened = await openKnownSession(tx, tokens, { userId, method, secondFactor, confirmedAt, origin, now: now() })
    await markHandOffUsed(tx, id, opened.id, opened.expiresAt)
    return opened.pair
  }

  return {
    /** Returns a code for the session of the pages. It works once, within a minute. */
    issue(actor: Actor, codeChallenge: string): Promise<string> {
      const { user, sessionId } = actor.caller
      if (sessionId === undefined) throw new Refusal('no_session')
      return changeOwn(changes, actor, async (tx) => {
        const code = generateChallenge()
        const expiresAt = now() + LIFETIME_MS
        await insertHandOff(tx, { id: hashChallenge(code), userId: user.id, sessionId, codeChallenge, isUsed: false, expiresAt })
        return code
      })
    },
    /** Opens a session for a code and the verifier of its challenge. A second use ends that session. */
    async exchange(origin: Origin, code: string, codeVerifier: string): Promise<TokenPair> {
      const id = hashChallenge(code)
      const known = await findHandOff(reads, id, now())
      const pair =
        known &&
        (await changes.withoutCaller(origin, async (tx) => {
          // Every change of the account, and every other use of the code, comes before or after this one.
          await lockAccounts(tx, known.userId, known.userId)
          const handOff = await findHandOff(tx, id, now())
          if (handOff === undefined) return undefined
          if (!handOff.isUsed && isVerifierOf(codeVerifier, handOff)) return open(tx, origin, handOff)
          // What ends here is committed: nothing is thrown before that.
          await deleteHandOff(tx, id)
          // Somebody else knows the code: the session that it has opened may be theirs.
          if (handOff.isUsed) await endSession(tx, handOff.userId, handOff.sessionId, now())
          return undefined
        }))
      if (pair === undefined) throw new Refusal('code_refused', known?.isUsed ? 'the code was used before' : 'the code does not work')
      return pair
    },
  }
}

/** Compares the verifier with its challenge by the method S256 of RFC 7636. */
function isVerifierOf(codeVerifier: string, { codeChallenge }: HandOff): boolean {
  return isSame(hash('sha256', codeVerifier, 'base64url'), codeChallenge)
}
