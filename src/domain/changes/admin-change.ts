import type { Actor, Operator } from '../../model/caller.ts'
import type { Changes, ChangeTransaction } from './changes.ts'

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
