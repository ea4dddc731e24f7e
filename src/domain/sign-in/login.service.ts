import type { Actor, Origin } from '../../model/caller.ts'
import type { FactorMethod, SignInMethod } from '../../model/factor.ts'
import type { ProvenIdentity } from '../../model/provider.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account } from '../../model/user.ts'
import { confirmSession, findSessionUser } from '../../storage/repositories/sessions/session.repository.ts'
import { findIdentityOwner } from '../../storage/repositories/sign-in/identity.repository.ts'
import { findUserByEmail, findUserById, lockAccounts, recordLogin, recordSignIn } from '../../storage/repositories/users/user.repository.ts'
import { readToken, requireCaller } from '../changes/callers.ts'
import { type ChangeTransaction, changeOwn, type DomainParts } from '../changes/changes.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import type { AuthFailureReason, LoginStatus } from '../operations/observer.ts'
import { endSession, type OpenSession, openPageSession, openSession, type TokenPair } from '../sessions/sessions.service.ts'
import { languageOf } from '../users/user-creation.ts'
import { emailKey } from '../values/email.ts'
import type { EmailSignIn, MailedProof } from './email-sign-in.service.ts'
import type { PasswordProof } from './password-proof.ts'
import { addAccountOf, endStrangers, personOf, takeOver } from './provider-accounts.ts'
import { createSecondStep, type FactorAnswer, type SecondStepParts } from './second-step.ts'

/** What the first step of a login leads to. A caller switches over the kind, so that a second step does not compile without it. */
export type LoginResult<Session> =
  | { readonly kind: 'session'; readonly session: Session }
  | { readonly kind: 'second step'; readonly challenge: string; readonly methods: readonly FactorMethod[] }

/** What a sign-in at another provider leads to. An account that has the address already is not opened: its owner connects it. */
type ProviderResult<Session> =
  | LoginResult<Session>
  | { readonly kind: 'account exists'; readonly userId: number; readonly email: string }
  | { readonly kind: 'verification sent'; readonly email: string }

export type Confirmation = FactorAnswer | { readonly password: string }

/** The ways in. A session is what its owner keeps of it: two tokens, or the cookie of the web pages. */
type WaysIn<Session> = {
  byPassword(origin: Origin, email: string, password: string): Promise<LoginResult<Session>>
  byPasskey(origin: Origin, credential: object): Promise<Session>
  /** By the link or the code of a mail. Costs the same for every address. */
  byMail(origin: Origin, proof: MailedProof): Promise<LoginResult<Session>>
  /** By an account at another provider. Nobody gets into an account because a provider names its address. */
  byProvider(origin: Origin, identity: ProvenIdentity): Promise<ProviderResult<Session>>
  bySecondStep(origin: Origin, challenge: string, answer: FactorAnswer): Promise<Session>
}

export type Login = {
  readonly api: WaysIn<TokenPair>
  readonly pages: WaysIn<string>
  /** Shows once more who the caller is. A second factor stays with the session. A wrong password or code counts for the limits. */
  confirm(actor: Actor, confirmation: Confirmation, limiter: Pick<Limiter, 'attempt'>): Promise<void>
  /** Returns a new access token. The refresh token is not replaced. */
  refresh(refreshToken: string): Promise<string>
  logout(actor: Actor): Promise<void>
}

type Parts = Omit<DomainParts, 'lists'> &
  SecondStepParts & {
    readonly proof: PasswordProof
    readonly emailSignIn: Pick<EmailSignIn, 'prepare'>
    /** Limits wrong codes, whatever the settings say. */
    readonly codeLimiter: Pick<Limiter, 'countCode' | 'countAccount' | 'settle' | 'recognise'>
    /** Limits new accounts, as the settings say. */
    readonly limiter: Pick<Limiter, 'countAddress'>
    readonly noteFailure: (userId: number, origin: Origin, kind: 'login.failed' | 'factor.failed') => void
  }

/** How somebody has come in, and what refuses them if the account changes at the same moment. */
type Entrance = {
  readonly method: SignInMethod
  readonly secondFactor: boolean
  readonly refusal: 'invalid_challenge' | 'passkey_refused' | 'code_refused' | 'provider_refused'
}

export function createLogin(parts: Parts): Login {
  const { reads, changes, tokens, passwords, observer, now, onMailQueued, languages } = parts
  const { proof, emailSignIn, codeLimiter, limiter, noteFailure } = parts
  const secondStep = createSecondStep(parts)

  function loginRefused(
    status: LoginStatus,
    code: 'wrong_credentials' | 'login_banned' | 'login_unverified' | 'code_refused' | 'provider_refused',
    reason: string,
  ): Refusal {
    observer.loginAttempt(status)
    return new Refusal(code, reason)
  }

  function refreshRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('refresh_token', reason)
    return new Refusal('token_invalid', reason)
  }

  /** The rules of every way in, once it is clear whose account it is. */
  function requireUsable(origin: Origin, { id, banned, verified }: Account): void {
    if (banned || !verified) noteFailure(id, origin, 'login.failed')
    if (banned) throw loginRefused('banned', 'login_banned', `user ${id} is banned`)
    if (!verified) throw loginRefused('not_verified', 'login_unverified', `user ${id} is not verified`)
  }

  /** Hashes the password again if the stored hash is weaker than a new one. A full queue must not refuse a correct login. */
  async function strongerHash(password: string, passwordHash: string): Promise<string | undefined> {
    return passwords.needsRehash(passwordHash) ? await passwords.hash(password).catch(() => undefined) : undefined
  }

  /** Only a whole login makes a network known to an account: with it, guesses from there count apart from all others. */
  async function entered({ ip }: Origin, { email }: Account): Promise<void> {
    observer.loginAttempt('success')
    await codeLimiter.recognise(email, ip)
  }

  function waysIn<Session>(open: OpenSession<Session>): WaysIn<Session> {
    /** The last step of every login. Locks the account: a change at the same moment ends this session or refuses it. */
    async function enter(
      tx: ChangeTransaction,
      origin: Origin,
      { id, resetVersion }: Account,
      { method, secondFactor, refusal }: Entrance,
    ) {
      if (!(await recordSignIn(tx, id, resetVersion, now(), secondFactor)))
        throw new Refusal(refusal, `the account of user ${id} has changed`)
      if (method === 'email') await endStrangers(tx, id)
      return open(tx, tokens, { userId: id, method, secondFactor, origin, now: now() })
    }

    async function byPassword(origin: Origin, email: string, password: string): Promise<LoginResult<Session>> {
      const user = await proof.ofAddress(origin, email, password)
      requireUsable(origin, user)
      const newHash = await strongerHash(password, user.passwordHash)
      const changed = () => loginRefused('invalid_password', 'wrong_credentials', `the account of user ${user.id} changed during the login`)
      const result = await changes.withoutCaller<LoginResult<Session>>(origin, async (tx) => {
        if (user.totp) return secondStep.begin(tx, user, 'password', changed, newHash)
        if (!(await recordLogin(tx, user.id, user.passwordHash, now(), newHash))) throw changed()
        const session = await open(tx, tokens, { userId: user.id, method: 'password', secondFactor: false, origin, now: now() })
        return { kind: 'session', session }
      })
      if (result.kind === 'session') await entered(origin, user)
      return result
    }

    async function byMail(origin: Origin, given: MailedProof): Promise<LoginResult<Session>> {
      const refusedCode = () => loginRefused('invalid_password', 'code_refused', 'the link or the code of a mail does not work')
      const places = 'code' in given ? [await codeLimiter.countAccount('mail-code:account', given.email, origin.ip)] : []
      return codeLimiter.settle(places, origin, async () => {
        const { user, use } = await emailSignIn.prepare(given)
        const result = await changes.withoutCaller<LoginResult<Session> | undefined>(origin, async (tx) => {
          // The count of a wrong code is committed.
          if (!(await use(tx)) || user === undefined) return undefined
          if (user.totp) return secondStep.begin(tx, user, 'email', refusedCode)
          return {
            kind: 'session',
            session: await enter(tx, origin, user, { method: 'email', secondFactor: false, refusal: 'code_refused' }),
          }
        })
        if (result === undefined || user === undefined) {
          if (user !== undefined) noteFailure(user.id, origin, 'login.failed')
          throw refusedCode()
        }
        if (result.kind === 'session') await entered(origin, user)
        return result
      })
    }

    /** The account that an identity opens. Issuer and subject decide, whatever address the provider names now. */
    async function byKnownIdentity(
      origin: Origin,
      { provider, issuer, subject }: ProvenIdentity,
      userId: number,
    ): Promise<LoginResult<Session>> {
      const changed = () => loginRefused('invalid_password', 'provider_refused', `the account of user ${userId} changed during the login`)
      const user = await findUserById(reads, userId)
      if (user === undefined) throw changed()
      requireUsable(origin, user)
      const result = await changes.withoutCaller<LoginResult<Session>>(origin, async (tx) => {
        await lockAccounts(tx, userId, userId)
        if ((await findIdentityOwner(tx, issuer, subject)) !== userId) throw changed()
        if (user.totp) return secondStep.begin(tx, user, provider, changed)
        return {
          kind: 'session',
          session: await enter(tx, origin, user, { method: provider, secondFactor: false, refusal: 'provider_refused' }),
        }
      })
      if (result.kind === 'session') await entered(origin, user)
      return result
    }

    async function byTakenAddress(
      origin: Origin,
      identity: ProvenIdentity,
      account: { readonly id: number; readonly email: string },
    ): Promise<ProviderResult<Session>> {
      // Another request of the same person may have created the account since the identity was looked up.
      const userId = await findIdentityOwner(reads, identity.issuer, identity.subject)
      if (userId !== undefined) return byKnownIdentity(origin, identity, userId)
      return { kind: 'account exists', userId: account.id, email: account.email }
    }

    async function byUnknownIdentity(origin: Origin, identity: ProvenIdentity): Promise<ProviderResult<Session>> {
      const person = { ...personOf(identity), language: languageOf(origin, languages) }
      const { provider, email, isEmailVerified } = person
      const account = await findUserByEmail(reads, emailKey(email))
      // A claim counts like a registration, also if the address is taken: otherwise it could test any number of addresses.
      if (account === undefined || !isEmailVerified) await limiter.countAddress('register:ip', origin.ip)
      // An account that nobody has verified belongs to the owner of the address. Whoever only claims it must not learn more of an account
      // than that it exists.
      if (account !== undefined && (account.verified || account.banned || !isEmailVerified))
        return byTakenAddress(origin, identity, account)
      const opened = await changes.withoutCaller(origin, async (tx) => {
        const user = await (account === undefined ? addAccountOf(tx, person, now()) : takeOver(tx, account, person, now()))
        return user.verified
          ? { user, session: await enter(tx, origin, user, { method: provider, secondFactor: false, refusal: 'provider_refused' }) }
          : undefined
      })
      onMailQueued()
      if (opened === undefined) return { kind: 'verification sent', email }
      await entered(origin, opened.user)
      return { kind: 'session', session: opened.session }
    }

    async function byIdentity(origin: Origin, identity: ProvenIdentity): Promise<ProviderResult<Session>> {
      const userId = await findIdentityOwner(reads, identity.issuer, identity.subject)
      return userId === undefined ? byUnknownIdentity(origin, identity) : byKnownIdentity(origin, identity, userId)
    }

    async function byProvider(origin: Origin, identity: ProvenIdentity): Promise<ProviderResult<Session>> {
      try {
        return await byIdentity(origin, identity)
      } catch (error) {
        // Another request has created or verified the account since it was read: now there is one to decide about.
        if (!(error instanceof Refusal) || error.code !== 'email_taken') throw error
        return byIdentity(origin, identity)
      }
    }

    return {
      byPassword,
      byMail,
      byProvider,
      async byPasskey(origin, credential) {
        const passkey = await secondStep.requirePasskey(origin, credential, 'passkey_refused')
        const user = await findUserById(reads, passkey.userId)
        if (user === undefined) throw new Refusal('passkey_refused', 'the account was deleted')
        requireUsable(origin, user)
        const session = await changes.withoutCaller(origin, async (tx) => {
          await lockAccounts(tx, user.id, user.id)
          await secondStep.usePasskey(tx, passkey)
          return enter(tx, origin, user, { method: 'passkey', secondFactor: true, refusal: 'passkey_refused' })
        })
        observer.secondFactorAttempt('passkey', 'success')
        await entered(origin, user)
        return session
      },
      async bySecondStep(origin, text, answer) {
        const { user, session } = await secondStep.complete(origin, text, answer, (tx, account, method) =>
          enter(tx, origin, account, { method, secondFactor: true, refusal: 'invalid_challenge' }),
        )
        await entered(origin, user)
        return session
      },
    }
  }

  return {
    api: waysIn(openSession),
    pages: waysIn(openPageSession),
    async confirm(actor, confirmation, limiter) {
      const { origin, caller } = actor
      const { user, sessionId } = caller
      if (sessionId === undefined) throw new Refusal('no_session')
      // Before anything is compared: a session that has ended since must not learn what is right.
      await requireCaller(reads, caller, now())
      const confirmBy = ({ withFactor }: { readonly withFactor: boolean }, use: (tx: ChangeTransaction) => Promise<boolean>) =>
        changeOwn(changes, actor, async (tx) => {
          if (!(await use(tx))) return undefined
          await confirmSession(tx, sessionId, { at: now(), withFactor })
          return true
        })
      if ('password' in confirmation) {
        await limiter.attempt(user.email, origin, () => proof.ofCaller(actor, confirmation.password))
        await confirmBy({ withFactor: false }, async () => true)
      } else if ('code' in confirmation) {
        await secondStep.withCode(origin, user, confirmation.code, 'invalid_code', (use) => confirmBy({ withFactor: true }, use))
      } else {
        const passkey = await secondStep.requirePasskey(origin, confirmation.passkey, 'invalid_passkey', { userId: user.id })
        if (!(await confirmBy({ withFactor: true }, passkey.use))) throw secondStep.passkeyRefused('invalid_passkey', 'used before')
        observer.secondFactorAttempt('passkey', 'success')
      }
    },
    async refresh(refreshToken) {
      const { userId, sessionId } = readToken(tokens, observer, refreshToken, 'refresh', 'refresh_token')
      if (sessionId === undefined) throw refreshRefused('invalid_token')
      const found = await findSessionUser(reads, sessionId, userId, now())
      if (found === undefined) throw refreshRefused('user_not_found')
      if (found.user.banned) throw refreshRefused('banned_user')
      return tokens.forSession('access', userId, sessionId)
    },
    async logout(actor) {
      const { user, sessionId } = actor.caller
      if (sessionId === undefined) throw new Refusal('no_session')
      await changeOwn(changes, actor, (tx) => endSession(tx, user.id, sessionId, now()))
    },
  }
}
