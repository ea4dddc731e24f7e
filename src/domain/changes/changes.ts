import type { Actor, Operator, Origin } from '../../model/caller.ts'
import { snakeCase } from '../../model/entity.ts'
import type { Change, Event } from '../../model/event.ts'
import type { Languages } from '../../model/language.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account, User } from '../../model/user.ts'
import type { Passwords } from '../../security/password.ts'
import type { Tokens } from '../../security/token.ts'
import type { Database, FinalStatement, LockName, Reads, Transaction } from '../../storage/database.ts'
import { findUserById, lockAccounts } from '../../storage/repositories/users/user.repository.ts'
import type { Observer } from '../operations/observer.ts'
import { requireReader } from './callers.ts'

/** A transaction that reports what it changed. */
export type ChangeTransaction = Transaction & {
  /**
   * Reports a change. Its event is stored in this transaction, and emitted after the commit, whether or not the client still waits for
   * the response.
   */
  record(change: Change): void
}

/** The account that a change is about, and the callers who may make it: its owner or an admin, or an admin only. */
export type AccountChange = {
  readonly userId: number
  readonly allowed: 'owner' | 'admin'
  /** Taken before anything is read, for a rule over several accounts. */
  readonly lock?: LockName
}

type Work<Result> = (tx: ChangeTransaction, target: Account) => Promise<Result>

/** The only way for a service to write. */
export type Changes = {
  /**
   * Changes one account, its sessions or its keys. The caller is read again inside the transaction: once a ban, a logout or any other
   * revocation is acknowledged, a request that was authenticated before it changes nothing.
   */
  toAccount<Result>(by: Actor | Operator, change: AccountChange, work: Work<Result>): Promise<Result>
  /** A change that needs no caller: a registration, a login, the use of a mailed token. */
  withoutCaller<Result>(origin: Origin, work: (tx: ChangeTransaction) => Promise<Result>): Promise<Result>
  /** A change of many accounts by a command, which may take longer than a request. */
  inBulk<Result>(origin: Origin, work: (tx: ChangeTransaction) => Promise<Result>): Promise<Result>
}

/**
 * Returns the statements that follow from the events of one change: the audit trail, deliveries. They run at the end of its transaction,
 * in this order, and either all of them are committed with the change or nothing is.
 * `before` is the account as it was before the change, if the change is about one account.
 */
export type FollowUp = (events: readonly Event[], before: User | undefined) => readonly FinalStatement[]

type ChangesParts = {
  readonly db: Database
  readonly now: () => number
  /** Called before the transaction of each change, so that it may read settings and files. */
  readonly followUps: () => readonly FollowUp[]
  /** Called after the commit. */
  readonly onEvent: (event: Event) => void
}

export function createChanges({ db, now, followUps, onEvent }: ChangesParts): Changes {
  function run<Result>(
    { via, requestId, ip, signal }: Origin,
    { actor, accountId, isLong }: { readonly actor?: number | undefined; readonly accountId?: number; readonly isLong?: true },
    work: (tx: ChangeTransaction, remember: (account: User) => void) => Promise<Result>,
  ): Promise<Result> {
    const events: Event[] = []
    const following = followUps()
    let before: User | undefined
    const remember = (account: User) => {
      before = account
    }
    const record = (change: Change) => void events.push({ ...change, at: now(), actor, via, requestId, ip })
    return db.transaction((tx) => work({ ...tx, record }, remember), {
      signal,
      accountId,
      isLong,
      finalStatements: () => (events.length === 0 ? [] : following.flatMap((followUp) => followUp(events, before))),
      onCommit: () => events.forEach(onEvent),
    })
  }

  return {
    toAccount({ caller, origin }, { userId, allowed, lock }, work) {
      const callerId = caller === 'operator' ? undefined : caller.user.id
      return run(origin, { actor: callerId, accountId: callerId ?? userId }, async (tx, remember) => {
        // Sent together, in this order: on PostgreSQL the locks and the reads cost one round trip. A revocation locks the account of the
        // caller too. It therefore either commits before the caller is read, or waits for this change.
        const [, , , target] = await Promise.all([
          lock && tx.lock(lock),
          lockAccounts(tx, userId, callerId ?? userId),
          caller === 'operator' ? undefined : requireReader(tx, caller, now(), allowed === 'owner' ? userId : undefined),
          findUserById(tx, userId),
        ])
        if (target === undefined) throw new Refusal('user_not_found')
        remember(target)
        return work(tx, target)
      })
    },
    withoutCaller: (origin, work) => run(origin, {}, work),
    inBulk: (origin, work) => run(origin, { isLong: true }, work),
  }
}

/** The dependencies of the services. Each service picks those that it needs. */
export type DomainParts = {
  readonly reads: Reads
  /** For lists and searches, which may be a few seconds old. Never for a decision about a caller. */
  readonly lists: Reads
  /** The only way for a service to write. */
  readonly changes: Changes
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly observer: Observer
  readonly now: () => number
  /** Called after each commit that queued a mail. */
  readonly onMailQueued: () => void
  readonly languages: Languages
}

/** A change by an operator or an admin to something that belongs to no account, such as the outbox. An admin is read again in the transaction. */
export function changeAsAdmin<Result>(
  changes: Changes,
  by: Actor | Operator,
  work: (tx: ChangeTransaction) => Promise<Result>,
): Promise<Result> {
  const { caller, origin } = by
  return caller === 'operator'
    ? changes.withoutCaller(origin, work)
    : changes.toAccount({ caller, origin }, { userId: caller.user.id, allowed: 'admin' }, work)
}

/** A change of the account of a caller. */
export function changeOwn<Result>(changes: Changes, actor: Actor, work: Work<Result>): Promise<Result> {
  return changes.toAccount(actor, { userId: actor.caller.user.id, allowed: 'owner' }, work)
}

/** All rows in order of id, one page at a time, so that memory does not grow with their number. */
export async function* pagesOf<Row extends { readonly id: number }>(
  size: number,
  read: (afterId: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let page = await read(0), last = page.at(-1); last !== undefined; page = await read(last.id), last = page.at(-1)) {
    yield page
    if (page.length < size) return
  }
}

/** The names of the fields that are set, spelled as in the API, for an event. Never their values. */
export function changedFields(changes: object): string[] {
  return Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [snakeCase(name)]))
}
