import type { Actor, Operator } from '../../model/caller.ts'
import type { FactorMethod, TotpSecret } from '../../model/factor.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateRecoveryCodes, hashRecoveryCode, type NewRecoveryCodes } from '../../security/recovery-codes.ts'
import { generateTotpSecret, stepOf, type TotpSealer, totpUri } from '../../security/totp.ts'
import type { Transaction } from '../../storage/database.ts'
import { confirmSession, deleteSessionsOfUser } from '../../storage/repositories/sessions/session.repository.ts'
import {
  confirmTotpSecret,
  deleteRecoveryCodes,
  deleteTotpSecret,
  endLoginChallenges,
  findTotpSecret,
  listSealedWith,
  replaceRecoveryCodes,
  resealTotpSecret,
  saveTotpSecret,
  turnTotpOff,
  turnTotpOn,
  useRecoveryCode,
  useTotpStep,
} from '../../storage/repositories/sign-in/factor.repository.ts'
import { countPasskeys, deletePasskeys } from '../../storage/repositories/sign-in/passkey.repository.ts'
import { requireCaller } from '../changes/callers.ts'
import { type ChangeTransaction, changeOwn, type DomainParts } from '../changes/changes.ts'
import { trimSessions } from '../sessions/sessions.service.ts'
import { factorsOf } from '../users/user-administration.service.ts'

/** A code that may be right: whether it is, only its use says. */
type PreparedCode = {
  readonly method: Exclude<FactorMethod, 'passkey'>
  /** True for exactly one of any number of uses, in any process. */
  use(tx: Transaction): Promise<boolean>
}

export type SecondFactor = ReturnType<typeof createSecondFactor>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  readonly totpSealer: TotpSealer
  /** Shown by the app beside the code. */
  readonly issuer: string
}

const SETUP_MS = 15 * 60_000
const RESEAL_BATCH = 100

/** Codes from an app, and the codes for the day when it is lost. */
export function createSecondFactor({ reads, changes, now, totpSealer, issuer }: Parts) {
  /** The time step of a code; undefined for a wrong one, and for a secret that no SECRET_KEY opens. */
  function openStep(sealed: TotpSecret, code: string): number | undefined {
    const secret = totpSealer.open(sealed)
    return secret === undefined ? undefined : stepOf(secret, code, now())
  }

  async function endAll(tx: ChangeTransaction, userId: number): Promise<void> {
    await deleteTotpSecret(tx, userId)
    await deleteRecoveryCodes(tx, userId)
    await turnTotpOff(tx, userId)
    await endLoginChallenges(tx, userId)
  }

  async function resealAll(page: readonly TotpSecret[]): Promise<void> {
    if (page.length === 0) return
    await changes.withoutCaller({ via: 'start' }, async (tx) => {
      for (const sealed of page) {
        const opened = totpSealer.open(sealed)
        if (opened === undefined) continue
        const { secret, sealedWith } = totpSealer.sealFor(sealed.userId, opened)
        await resealTotpSecret(tx, sealed.userId, sealed.secret, secret, sealedWith)
      }
    })
  }

  return {
    status: (userId: number) => factorsOf(reads, userId),
    /** Returns a secret for the app. Nothing changes until a code of it is confirmed. */
    begin(actor: Actor) {
      const secret = generateTotpSecret()
      return changeOwn(changes, actor, async (tx, { id, email, totp }) => {
        if (totp) throw new Refusal('second_factor_on')
        await saveTotpSecret(tx, {
          userId: id,
          ...totpSealer.sealFor(id, secret),
          createdAt: now(),
          confirmedAt: undefined,
          lastStep: 0,
          salt: '',
        })
        return { secret, uri: totpUri(secret, issuer, email) }
      })
    },
    /** Turns codes on. Returns the recovery codes, which are never shown again. */
    async confirm(actor: Actor, code: string) {
      await requireCaller(reads, actor.caller, now())
      const begun = await findTotpSecret(reads, actor.caller.user.id)
      const isOpen = begun !== undefined && begun.confirmedAt === undefined && begun.createdAt + SETUP_MS > now()
      const step = isOpen ? openStep(begun, code) : undefined
      if (step === undefined) throw new Refusal('invalid_code')
      const recovery = await generateRecoveryCodes()
      return changeOwn(changes, actor, async (tx, { id }) => {
        // Another request may have begun anew, or have confirmed the same secret.
        const current = await findTotpSecret(tx, id)
        if (current?.secret !== begun?.secret || current?.confirmedAt !== undefined) throw new Refusal('invalid_code')
        await confirmTotpSecret(tx, id, now(), step)
        await turnTotpOn(tx, id)
        await confirmSession(tx, actor.caller.sessionId ?? '', { at: now(), withFactor: true })
        tx.record({ kind: 'factor.added', target: id, changed: ['totp'] })
        return saveRecoveryCodes(tx, id, recovery)
      })
    },
    remove: (actor: Actor) =>
      changeOwn(changes, actor, async (tx, { id, totp }) => {
        if (!totp) throw new Refusal('second_factor_off')
        await endAll(tx, id)
        tx.record({ kind: 'factor.removed', target: id, changed: ['totp'] })
      }),
    async renewRecoveryCodes(actor: Actor) {
      const recovery = await generateRecoveryCodes()
      return changeOwn(changes, actor, async (tx, { id, totp }) => {
        if (!totp) throw new Refusal('second_factor_off')
        tx.record({ kind: 'factor.added', target: id, changed: ['recovery_codes'] })
        return saveRecoveryCodes(tx, id, recovery)
      })
    },
    /** Removes everything besides the password, and ends the sessions of the account. */
    async reset(by: Actor | Operator, userId: number): Promise<void> {
      const change = <Result>(work: (tx: ChangeTransaction) => Promise<Result>) => changes.toAccount(by, { userId, allowed: 'admin' }, work)
      await trimSessions(reads, change, userId)
      await change(async (tx) => {
        await endAll(tx, userId)
        await deletePasskeys(tx, userId)
        await countPasskeys(tx, userId)
        await deleteSessionsOfUser(tx, userId)
        tx.record({ kind: 'factor.reset', target: userId })
      })
    },
    /** Does the slow work of a comparison, so that no transaction waits for it. */
    async prepare(userId: number, code: string): Promise<PreparedCode> {
      const typed = code.replaceAll(' ', '')
      const kept = await findTotpSecret(reads, userId)
      if (/^\d{6}$/.test(typed)) {
        const step = kept && openStep(kept, typed)
        return { method: 'totp', use: async (tx) => step !== undefined && useTotpStep(tx, userId, step) }
      }
      const hash = await hashRecoveryCode(typed, kept?.salt ?? '')
      return { method: 'recovery_code', use: async (tx) => hash !== undefined && useRecoveryCode(tx, userId, hash) }
    },
    /** Encrypts with the current SECRET_KEY what a former one encrypted, in small batches, until all is done or the service stops. */
    async reseal(isStopped: () => boolean = () => false): Promise<void> {
      for (const formerSeal of totpSealer.formerSeals) {
        let page: readonly TotpSecret[]
        let lastId = 0
        do {
          page = await listSealedWith(reads, formerSeal, lastId, RESEAL_BATCH)
          await resealAll(page)
          lastId = page.at(-1)?.userId ?? lastId
        } while (page.length === RESEAL_BATCH && !isStopped())
      }
    },
  }
}

async function saveRecoveryCodes(tx: Transaction, userId: number, { codes, salt, hashes }: NewRecoveryCodes): Promise<readonly string[]> {
  await replaceRecoveryCodes(tx, userId, salt, hashes)
  return codes
}
