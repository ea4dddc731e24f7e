import { Refusal } from '../../model/refusal.ts'
import { codeOf } from '../../shared/errors.ts'
import type { Reads } from '../database.ts'
import { type Client, parseAddress } from './connections.ts'
import { isDoubtful } from './errors.ts'
import { createOutageWatch, createPool, type OutageObserver } from './pool.ts'
import { answered, asked, demandingPosition, POSITION_NOT_REACHED, PREPARED, queries } from './queries.ts'

type Replica = Reads & { close(): Promise<void> }

type ReplicaParts = {
  readonly url: string
  /** Reads from the primary while the replica cannot be used. */
  readonly primary: Reads
  readonly readPosition: () => Promise<PrimaryPosition>
  readonly observer: OutageObserver
}

const MAX_CONNECTIONS = 4
// Short: after them the primary still has to answer within the deadline of the request.
const CHECK_DEADLINE_MS = 500
const READ_DEADLINE_MS = 1000
const CHECK_EVERY_MS = 1000
const AWAY_MS = 5000

/**
 * Lists and searches from a replica, which may be a few seconds behind. Whenever it does not answer, is further behind, is not a replica
 * of this primary or is not a replica any more, the primary answers instead.
 */
export function openReplica({ url, primary, readPosition, observer }: ReplicaParts): Replica {
  const address = parseAddress(url)
  const pool = createPool({ ...address, isReplica: true }, MAX_CONNECTIONS, { hostIndex: 0 })
  const outage = createOutageWatch(observer)
  const lag = createLag(readPosition, () => ask(CHECK_DEADLINE_MS, readProgress))
  let checkedAt = Number.NEGATIVE_INFINITY
  let awayUntil = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined

  async function ask<Result>(deadlineMs: number, work: (client: Client) => PromiseLike<Result>): Promise<Result> {
    const used = pool.connections()
    const onError = (error: unknown) => {
      if (!isDoubtful(error)) return
      pool.leaveHost(used)
      pool.replace(used)
    }
    const explain = (error: unknown): never => {
      throw used.explain(error)
    }
    return answered(() => work(used.client).then(undefined, explain), { onError, deadlineMs })
  }

  function leave(reason: unknown): void {
    awayUntil = performance.now() + AWAY_MS
    outage.failed(reason instanceof Error ? reason.message : String(reason))
  }

  async function check(): Promise<void> {
    try {
      const problem = await lag.check()
      if (problem === undefined) return outage.succeeded()
      // Another host of the list may be the replica: the roles change with each failover.
      pool.leaveHost(pool.connections())
      leave(problem)
    } catch (error) {
      leave(error)
    } finally {
      checkedAt = performance.now()
      checking = undefined
    }
  }

  async function isUsable(): Promise<boolean> {
    if (performance.now() < awayUntil) return false
    if (performance.now() - checkedAt > CHECK_EVERY_MS) {
      checking ??= check()
      await checking
    }
    return performance.now() >= awayUntil && lag.isRecent()
  }

  async function reading<Result>(read: (from: Reads) => Promise<Result>): Promise<Result> {
    if (!(await isUsable())) return read(primary)
    try {
      return await read(replica)
    } catch (error) {
      // The replica may have cancelled the statement, may lack a table that a migration has just created, or may be gone.
      leave(error)
      return read(primary)
    }
  }

  const replica = queries((statement, values) => {
    if (!statement.isRead) throw new Refusal('unavailable', 'a replica cannot be written')
    if (!address.isPooled) return ask(READ_DEADLINE_MS, (client) => asked(client, statement, values))
    // A pooler may lead to another server than the one that was checked.
    const demanding = { ...statement, sql: demandingPosition(statement.sql, values.length + 1) }
    return ask(READ_DEADLINE_MS, (client) => asked(client, demanding, [...values, lag.reached()]).then(undefined, explainPosition))
  })

  return {
    first: (statement, ...values) => reading((from) => from.first(statement, ...values)),
    all: (statement, ...values) => reading((from) => from.all(statement, ...values)),
    close: () => pool.close(),
  }
}

function explainPosition(error: unknown): never {
  if (codeOf(error) !== POSITION_NOT_REACHED) throw error
  throw new Refusal('unavailable', 'the pooler of DATABASE_READ_URL led to a server that is behind the one that was checked', {
    cause: error,
  })
}

const PROGRESS = `
  select pg_is_in_recovery() as "isReplica", pg_last_wal_replay_lsn()::text as lsn, (select id from instance) as instance`

async function readProgress(client: Client): Promise<ReplicaProgress> {
  const [progress] = await client.unsafe<ReplicaProgress[]>(PROGRESS, [], PREPARED)
  if (progress === undefined) throw new Refusal('unavailable', 'the replica did not report its position')
  return progress
}

/** How far the primary had written, and which database it is. */
export type PrimaryPosition = { readonly lsn: string; readonly instance: string }

/** What a replica says about itself. Only a server that was never a replica has no position. */
type ReplicaProgress = { readonly isReplica: boolean; readonly lsn: string | null; readonly instance: string }

const MAX_LAG_MS = 5000

/**
 * Measures how old the state of a replica may be: the position of the primary is noted together with the time, and once the replica has
 * reached that position, it is at least as recent as that time. This also notices a replica that receives nothing any more, which
 * the clocks of the two servers would not. A former primary that came back as a standby may have writes that were lost in the failover:
 * it is ahead of the primary, which no replica of it can be.
 */
function createLag(readPosition: () => Promise<PrimaryPosition>, readProgress: () => Promise<ReplicaProgress>) {
  let noted: { readonly position: PrimaryPosition; readonly at: number } | undefined
  let recentAt = Number.NEGATIVE_INFINITY
  let reached = '0/0'

  return {
    /** Compares both servers. Returns why the replica cannot be used, or undefined. */
    async check(): Promise<string | undefined> {
      if (noted === undefined) {
        const at = performance.now()
        noted = { position: await readPosition(), at }
      }
      const { isReplica, lsn, instance } = await readProgress()
      if (!isReplica) return 'the server of DATABASE_READ_URL is not a replica, or was promoted'
      if (instance !== noted.position.instance) return 'the server of DATABASE_READ_URL is a replica of another database'
      if (lsn !== null && toNumber(lsn) >= toNumber(noted.position.lsn)) {
        const { lsn: end } = await readPosition()
        if (toNumber(lsn) > toNumber(end)) return 'the server of DATABASE_READ_URL has writes that the primary does not have'
        recentAt = noted.at
        reached = noted.position.lsn
        noted = undefined
      }
      return noted === undefined || performance.now() - noted.at <= MAX_LAG_MS ? undefined : 'the replica is more than 5 seconds behind'
    },
    /** Whether the replica had, a few seconds ago, everything that the primary had then. */
    isRecent: () => performance.now() - recentAt <= MAX_LAG_MS,
    /** The position of the primary that the replica had reached then. */
    reached: () => reached,
  }
}

/** A position is written as two hexadecimal numbers of up to 32 bits, such as `16/B374D848`. */
function toNumber(lsn: string): bigint {
  const [high, low] = lsn.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
