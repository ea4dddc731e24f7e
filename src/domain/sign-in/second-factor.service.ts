import type { Actor, Operator } from '../../model/caller.ts'
import type { FactorMethod, Factors, TotpSecret } from '../../model/factor.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User, UserSecrets } from '../../model/user.ts'
import { deriveKeys, fingerprints, type Secrets } from '../../security/derived-keys.ts'
import { generateRecoveryCodes, hashRecoveryCode, type NewRecoveryCodes } from '../../security/recovery-codes.ts'
import { createSealer } from '../../security/sealing.ts'
import { generateTotpSecret, stepOf, totpUri } from '../../security/totp.ts'
import type { Transaction } from '../../storage/database.ts'
import { confirmSession, deleteSessionsOfUser } from '../../storage/repositories/sessions/session.repository.ts'
import {
  confirmTotpSecret,
  countRecoveryCodes,
  deleteRecoveryCodes,
  deleteTotpSecret,
  endLoginChallenges,
  findTotpSecret,
  listSealedWith,
  replaceRecoveryCodes,
  resealTotpSecret,
  saveTotpSecret,
  setTotp,
  useRecoveryCode,
  useTotpStep,
} from '../../storage/repositories/sign-in/factor.repository.ts'
import { countPasskeys, deletePasskeys } from '../../storage/repositories/sign-in/passkey.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import { requireCaller } from '../changes/callers.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { trimSessions } from '../sessions/sessions.service.ts'

/** A code that may be right: whether it is, only its use says. */
export type PreparedCode = {
  readonly method: Exclude<FactorMethod, 'passkey'>
  /** True for exactly one of any number of uses, in any process. */
  use(tx: Transaction): Promise<boolean>
}

/** Codes from an app, and the codes for the day when it is lost. */
export type SecondFactor = {
  status(userId: number): Promise<Factors>
  /** Returns a secret for the app. Nothing changes until a code of it is confirmed. */
  begin(actor: Actor): Promise<{ readonly secret: string; readonly uri: string }>
  /** Turns codes on. Returns the recovery codes, which are never shown again. */
  confirm(actor: Actor, code: string): Promise<readonly string[]>
  remove(actor: Actor): Promise<void>
  renewRecoveryCodes(actor: Actor): Promise<readonly string[]>
  /** Removes everything besides the password, and ends the sessions of the account. */
  reset(by: Actor | Operator, userId: number): Promise<void>
  /** Does the slow work of a comparison, so that no transaction waits for it. */
  prepare(userId: number, code: string): Promise<PreparedCode>
  /** Encrypts with the current SECRET_KEY what a former one encrypted. */
  reseal(): Promise<void>
}

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  readonly secrets: Secrets
  /** Shown by the app beside the code. */
  readonly issuer: string
}

const SETUP_MS = 15 * 60_000
const RESEAL_BATCH = 100

export function createSecondFactor({ reads, changes, now, secrets, issuer }: Parts): SecondFactor {
  const sealer = createSealer(deriveKeys(secrets, 'second-factor'))
  const [sealedWith, ...formerly] = fingerprints(secrets)
  const sealFor = (userId: number, secret: string) => ({ secret: sealer.seal(secret, String(userId)), sealedWith })
  const toOwn = <Result>(actor: Actor, work: (tx: ChangeTransaction, target: User & UserSecrets) => Promise<Result>) =>
    changes.toAccount(actor, { userId: actor.caller.user.id, allowed: 'owner' }, work)

  /** The time step of a code; undefined for a wrong one, and for a secret that no SECRET_KEY opens. */
  function openStep({ userId, secret }: TotpSecret, code: string): number | undefined {
    const opened = sealer.open(secret, String(userId))
    return opened && stepOf(opened.text, code, now())
  }

  function resealBatch(batch: readonly TotpSecret[]): Promise<void> {
    return changes.withoutCaller({ via: 'start' }, async (tx) => {
      for (const { userId, secret } of batch) {
        const opened = sealer.open(secret, String(userId))
        if (opened === undefined) continue
        const resealed = sealFor(userId, opened.text)
        await resealTotpSecret(tx, userId, secret, resealed.secret, resealed.sealedWith)
      }
    })
  }

  async function endAll(tx: ChangeTransaction, userId: number): Promise<void> {
    await deleteTotpSecret(tx, userId)
    await deleteRecoveryCodes(tx, userId)
    await setTotp(tx, userId, false)
    await endLoginChallenges(tx, userId)
  }

  return {
    async status(userId) {
      const [user, recoveryCodes = 0] = await Promise.all([findUserById(reads, userId), countRecoveryCodes(reads, userId)])
      if (user === undefined) throw new Refusal('user_not_found')
      return { totp: user.totp, passkeys: user.passkeys, recoveryCodes }
    },
    async begin(actor) {
      const secret = generateTotpSecret()
      return toOwn(actor, async (tx, { id, email, totp }) => {
        if (totp) throw new Refusal('second_factor_on')
        await saveTotpSecret(tx, { userId: id, ...sealFor(id, secret), createdAt: now(), confirmedAt: undefined, lastStep: 0, salt: '' })
        return { secret, uri: totpUri(secret, issuer, email) }
      })
    },
    async confirm(actor, code) {
      await requireCaller(reads, actor.caller, now())
      const begun = await findTotpSecret(reads, actor.caller.user.id)
      const isOpen = begun !== undefined && begun.confirmedAt === undefined && begun.createdAt + SETUP_MS > now()
      const step = isOpen ? openStep(begun, code) : undefined
      if (step === undefined) throw new Refusal('invalid_code')
      const recovery = await generateRecoveryCodes()
      return toOwn(actor, async (tx, { id }) => {
        // Another request may have begun anew, or have confirmed the same secret.
        const current = await findTotpSecret(tx, id)
        if (current?.secret !== begun?.secret || current?.confirmedAt !== undefined) throw new Refusal('invalid_code')
        await confirmTotpSecret(tx, id, now(), step)
        await setTotp(tx, id, true)
        await confirmSession(tx, actor.caller.sessionId ?? '', now(), true)
        tx.record({ kind: 'factor.added', target: id, changed: ['totp'] })
        return saveRecoveryCodes(tx, id, recovery)
      })
    },
    remove: (actor) =>
      toOwn(actor, async (tx, { id, totp }) => {
        if (!totp) throw new Refusal('second_factor_off')
        await endAll(tx, id)
        tx.record({ kind: 'factor.removed', target: id, changed: ['totp'] })
      }),
    async renewRecoveryCodes(actor) {
      const recovery = await generateRecoveryCodes()
      return toOwn(actor, async (tx, { id, totp }) => {
        if (!totp) throw new Refusal('second_factor_off')
        tx.record({ kind: 'factor.added', target: id, changed: ['recovery_codes'] })
        return saveRecoveryCodes(tx, id, recovery)
      })
    },
    async reset(by, userId) {
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
    async prepare(userId, code) {
      const typed = code.replaceAll(' ', '')
      const kept = await findTotpSecret(reads, userId)
      if (/^\d{6}$/.test(typed)) {
        const step = kept && openStep(kept, typed)
        return { method: 'totp', use: async (tx) => step !== undefined && useTotpStep(tx, userId, step) }
      }
      const hash = await hashRecoveryCode(typed, kept?.salt ?? '')
      return { method: 'recovery_code', use: async (tx) => hash !== undefined && useRecoveryCode(tx, userId, hash) }
    },
    async reseal() {
      for (const former of formerly) {
        let batch: readonly TotpSecret[] = []
        // A secret that cannot be opened stays, and does not keep the ones after it from their turn.
        do {
          batch = await listSealedWith(reads, former, batch.at(-1)?.userId ?? 0, RESEAL_BATCH)
          await resealBatch(batch)
        } while (batch.length === RESEAL_BATCH)
      }
    },
  }
}

async function saveRecoveryCodes(tx: Transaction, userId: number, { codes, salt, hashes }: NewRecoveryCodes): Promise<readonly string[]> {
  await replaceRecoveryCodes(tx, userId, salt, hashes)
  return codes
}
