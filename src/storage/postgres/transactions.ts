import { Abandoned } from '../../model/refusal.ts'
import { type Database, LONG_TRANSACTION_MS, type LockName, type Transaction, type TransactionOptions } from '../database.ts'
import { type Client, setTimeouts, type Tx } from './connections.ts'
import { isLost } from './errors.ts'
import { type AskOn, answered, PREPARED, queries } from './queries.ts'

/** Runs work on a connection for writes. `requireTime` throws after the deadline: the caller has its error by then. */
export type RunWrite = <Result>(
  work: (client: Client, requireTime: () => void) => PromiseLike<Result>,
  deadlineMs: number | undefined,
) => Promise<Result>

const LOCKS: Record<LockName, number> = { admins: 7_214_001, 'signing-keys': 7_214_002, 'audit-chain': 7_214_003 }

export function createTransactions(runWrite: RunWrite, ask: AskOn): Database['transaction'] {
  const takeTurn = createTurns()

  function transact<Result>(work: (tx: Transaction) => Promise<Result>, options: TransactionOptions): Promise<Result> {
    const { signal, onCommit, finalStatements, onCommitSent, isLong } = options
    const deadlineMs = isLong ? LONG_TRANSACTION_MS : undefined
    return runWrite(async (client, requireTime) => {
      const requireClient = () => {
        if (signal?.aborted) throw new Abandoned()
        requireTime()
      }
      requireClient()
      const closing = { finalStatements, onCommitSent, deadlineMs }
      const result = await client.begin((tx) => unlessLost(() => within(tx, ask, work, requireClient, closing)))
      // PostgreSQL answers a commit after a failed statement with a rollback, which is not an error to the driver.
      await result.final
      onCommit?.()
      return result.value
    }, deadlineMs)
  }

  return (work, options = {}) =>
    options.accountId === undefined ? transact(work, options) : takeTurn(options.accountId, () => transact(work, options))
}

type Closing = Pick<TransactionOptions, 'finalStatements' | 'onCommitSent'> & { readonly deadlineMs: number | undefined }

/** Returns the result of the work, and the outcome of the final statements, which is awaited after the commit was sent. */
async function within<Result>(
  tx: Tx,
  ask: AskOn,
  work: (tx: Transaction) => Promise<Result>,
  requireClient: () => void,
  { finalStatements = () => [], onCommitSent, deadlineMs }: Closing,
) {
  requireClient()
  const inTime = <Result>(statement: () => PromiseLike<Result>) => answered(statement, { deadlineMs })
  const lock = async (name: LockName) => void (await inTime(() => tx.unsafe('select pg_advisory_xact_lock($1)', [LOCKS[name]], PREPARED)))
  if (deadlineMs !== undefined) await inTime(() => tx.unsafe(setTimeouts(deadlineMs)))
  const value = await work({ ...queries((statement, values) => inTime(() => ask(tx, statement, values))), lock })
  // A request that was answered with an error must not succeed afterwards.
  requireClient()
  const final = Promise.all(finalStatements().map(({ statement, values }) => inTime(() => ask(tx, statement, [...values]))))
  // If the commit fails too, nobody awaits this one.
  final.catch(() => undefined)
  onCommitSent?.()
  return { value, final }
}

/**
 * Leaves the work unsettled if the connection is lost. The driver notices the loss and rejects the transaction itself; whether we rejected
 * or resolved, it would send a rollback or a commit over a connection that is gone, or over a new one that others use.
 */
async function unlessLost<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isLost(error)) await new Promise(() => undefined)
    throw error
  }
}

/**
 * Runs work for one account after the work that was added for it before. Waiting here, rather than in PostgreSQL for the lock on a row,
 * keeps a flood of changes to one account from occupying every connection.
 */
function createTurns() {
  const lastByAccount = new Map<number, Promise<unknown>>()

  return async <Result>(accountId: number, work: () => Promise<Result>): Promise<Result> => {
    const previous = lastByAccount.get(accountId)
    const done = Promise.withResolvers<void>()
    lastByAccount.set(accountId, done.promise)
    await previous
    try {
      return await work()
    } finally {
      done.resolve()
      if (lastByAccount.get(accountId) === done.promise) lastByAccount.delete(accountId)
    }
  }
}
