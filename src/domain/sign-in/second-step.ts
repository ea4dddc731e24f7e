import type { Origin } from '../../model/caller.ts'
import type { FactorMethod, SignInMethod } from '../../model/factor.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account, User } from '../../model/user.ts'
import { CHALLENGE_LIFETIME_MS, generateChallenge, hashChallenge } from '../../security/challenges.ts'
import {
  countCode,
  endLoginChallenge,
  findLoginChallenge,
  insertLoginChallenge,
  MAX_WRONG_CODES,
} from '../../storage/repositories/sign-in/factor.repository.ts'
import { findUserById, lockAccounts, recordFirstStep } from '../../storage/repositories/users/user.repository.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import type { Passkeys, PreparedPasskey } from './passkeys.service.ts'
import type { SecondFactor } from './second-factor.service.ts'

/** What shows the second time who somebody is. */
export type FactorAnswer = { readonly code: string } | { readonly passkey: object }

export type SecondStepParts = Pick<DomainParts, 'reads' | 'changes' | 'observer' | 'now' | 'onMailQueued'> & {
  readonly secondFactor: Pick<SecondFactor, 'prepare'>
  readonly passkeys: Pick<Passkeys, 'prepare'> | undefined
  readonly codeLimiter: Pick<Limiter, 'countCode' | 'settle'>
  readonly noteFailure: (userId: number, origin: Origin, kind: 'factor.failed') => void
  /** Queues the notice that a recovery code was used. Returns false if the settings ask for no notices. */
  readonly noticeRecovery: (tx: ChangeTransaction, userId: number) => Promise<boolean>
}

/** Opens the session of a login whose second step is right, in its transaction. */
type Enter<Session> = (tx: ChangeTransaction, user: Account, method: SignInMethod) => Promise<Session>

/** The second step of a login, and the codes and passkeys that it and a confirmation are made of. */
export function createSecondStep(parts: SecondStepParts) {
  const { reads, changes, observer, now, onMailQueued, secondFactor, passkeys, codeLimiter, noteFailure, noticeRecovery } = parts

  /** Asks for the second step, unless the account has changed since it was read. */
  async function begin(
    tx: ChangeTransaction,
    { id: userId, resetVersion, passwordHash, passkeys: count }: Account,
    method: SignInMethod,
    changed: () => Refusal,
    newHash = passwordHash,
  ) {
    if (!(await recordFirstStep(tx, userId, resetVersion, passwordHash, newHash))) throw changed()
    const text = generateChallenge()
    const expiresAt = now() + CHALLENGE_LIFETIME_MS
    await insertLoginChallenge(tx, { id: hashChallenge(text), userId, method, resetVersion, wrongCodes: 0, expiresAt })
    const methods: FactorMethod[] = ['totp', 'recovery_code']
    if (passkeys !== undefined && count > 0) methods.push('passkey')
    return { kind: 'second step', challenge: text, methods } as const
  }

  /** Compares a code. The work either uses it and returns, or returns undefined: then the code was wrong. */
  async function withCode<Result>(
    origin: Origin,
    { id, email }: Pick<User, 'id' | 'email'>,
    code: string,
    refusal: 'invalid_code' | 'code_refused',
    work: (use: (tx: ChangeTransaction) => Promise<boolean>) => Promise<Result | undefined>,
  ): Promise<Result> {
    const place = await codeLimiter.countCode({ id, email }, origin.ip)
    return codeLimiter.settle([place], origin, async () => {
      const { method, use } = await secondFactor.prepare(id, code)
      let isMailQueued = false
      const result = await work(async (tx) => {
        const isRight = await use(tx)
        if (isRight && method === 'recovery_code') isMailQueued = await noticeRecovery(tx, id)
        return isRight
      })
      if (isMailQueued) onMailQueued()
      observer.secondFactorAttempt(method, result === undefined ? 'invalid' : 'success')
      if (result !== undefined) return result
      noteFailure(id, origin, 'factor.failed')
      throw new Refusal(refusal, `wrong code of user ${id}`)
    })
  }

  async function requirePasskey(
    origin: Origin,
    credential: object,
    refusal: 'invalid_passkey' | 'passkey_refused',
    { userId, loginChallenge }: { readonly userId?: number; readonly loginChallenge?: string } = {},
  ): Promise<PreparedPasskey> {
    const prepared = await passkeys?.prepare(origin, credential, loginChallenge)
    if (prepared !== undefined && (userId ?? prepared.userId) === prepared.userId) return prepared
    throw passkeyRefused(refusal, 'the answer')
  }

  function passkeyRefused(refusal: 'invalid_passkey' | 'passkey_refused', reason: string): Refusal {
    observer.secondFactorAttempt('passkey', 'invalid')
    return new Refusal(refusal, reason)
  }

  async function usePasskey(tx: ChangeTransaction, passkey: PreparedPasskey): Promise<void> {
    if (!(await passkey.use(tx))) throw passkeyRefused('passkey_refused', 'used before')
  }

  /** Ends the challenge of a login, exactly once. */
  async function complete<Session>(origin: Origin, text: string, answer: FactorAnswer, enter: Enter<Session>) {
    const id = hashChallenge(text)
    const begun = await findLoginChallenge(reads, id, now())
    const user = begun && (await findUserById(reads, begun.userId))
    if (begun === undefined || user === undefined || !user.totp || user.resetVersion !== begun.resetVersion)
      throw new Refusal('invalid_challenge')
    const end = async (tx: ChangeTransaction, maxCounted: number) => {
      if (!(await endLoginChallenge(tx, id, maxCounted))) throw new Refusal('invalid_challenge', 'used or ended meanwhile')
      return { user, session: await enter(tx, user, begun.method) }
    }
    if ('code' in answer)
      return withCode(origin, user, answer.code, 'code_refused', (use) =>
        changes.withoutCaller(origin, async (tx) => {
          await lockAccounts(tx, user.id, user.id)
          if (!(await countCode(tx, id, now(), MAX_WRONG_CODES))) throw new Refusal('invalid_challenge', 'too many wrong codes')
          // The count of a wrong code is committed.
          return (await use(tx)) ? end(tx, MAX_WRONG_CODES) : undefined
        }),
      )
    const passkey = await requirePasskey(origin, answer.passkey, 'passkey_refused', { userId: user.id, loginChallenge: text })
    const completed = await changes.withoutCaller(origin, async (tx) => {
      await lockAccounts(tx, passkey.userId, passkey.userId)
      await usePasskey(tx, passkey)
      // A passkey counts no attempt, but five wrong codes, also at the same moment, end the challenge for it too.
      return end(tx, MAX_WRONG_CODES - 1)
    })
    observer.secondFactorAttempt('passkey', 'success')
    return completed
  }

  return { begin, withCode, requirePasskey, passkeyRefused, usePasskey, complete }
}
