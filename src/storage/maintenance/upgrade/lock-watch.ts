import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../postgres/connections.ts'
import { type Blocks, BY_STRENGTH, TrialError, type Wait } from './trial.ts'

type LockRow = { readonly table: string; readonly mode: string; readonly granted: boolean }
type Blocker = { readonly pid: number; readonly application: string; readonly seconds: number }

export type LockWatch = ReturnType<typeof watchLocks>

type WatchOptions = {
  readonly pid: number
  /** Called after each look with the time for which requests have been waiting. */
  readonly onLook: (waitedMs: number) => Promise<void>
  /** Called at once if the locks cannot be read any more. */
  readonly onFailure: () => void
}

// PostgreSQL reports locks to nobody: a connection that wants to know when one was taken has to look. Times are at most this much too long.
const LOOK_EVERY_MS = 20
const BLOCKS: Readonly<Record<string, Blocks>> = {
  AccessExclusiveLock: 'reads and writes',
  ExclusiveLock: 'writes',
  ShareRowExclusiveLock: 'writes',
  ShareLock: 'writes',
  // Which rows are changed is not visible from outside; a login changes its user.
  RowExclusiveLock: 'changes of the same rows',
}

// Seen from another connection, a table that the migration creates does not exist, so these are the tables that requests use. They do not
// use the history of migrations.
const READ_LOCKS = `
  select pg_class.relname::text as table, pg_locks.mode, pg_locks.granted from pg_locks join pg_class on pg_class.oid = pg_locks.relation
  where pg_locks.pid = $1 and pg_locks.locktype = 'relation' and pg_class.relkind in ('r', 'p')
    and pg_class.relname <> 'schema_migrations' and pg_class.relnamespace = current_schema()::regnamespace`
const READ_BLOCKERS = `
  select pid, coalesce(nullif(application_name, ''), backend_type) as application, extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
  from pg_stat_activity where pid = any (pg_blocking_pids($1)) order by xact_start limit 1`

/** Looks at the locks of another connection, from now on. */
export function watchLocks(client: Client, { pid, onLook, onFailure }: WatchOptions) {
  const takenAt = new Map<string, { readonly table: string; readonly blocks: Blocks; readonly at: number }>()
  let isEnding = false
  let previousLookAt = performance.now()
  let obstacle: string | undefined

  async function look(): Promise<void> {
    const at = performance.now()
    const locks = await client.unsafe<LockRow[]>(READ_LOCKS, [pid])
    for (const { table, mode, granted } of locks) {
      const blocks = BLOCKS[mode]
      if (!granted) await readObstacle(table)
      // It was not there at the previous look, so it was not taken earlier.
      else if (blocks !== undefined && !takenAt.has(table + blocks)) takenAt.set(table + blocks, { table, blocks, at: previousLookAt })
    }
    previousLookAt = at
  }

  async function readObstacle(table: string): Promise<void> {
    const [blocker] = await client.unsafe<Blocker[]>(READ_BLOCKERS, [pid])
    if (blocker === undefined) return
    obstacle = `${table} is in use by ${blocker.application} (process ${blocker.pid} of PostgreSQL), in a transaction that began ${Math.round(blocker.seconds)} seconds ago`
  }

  async function watch(): Promise<void> {
    while (!isEnding) {
      await look()
      const first = Math.min(...[...takenAt.values()].map(({ at }) => at))
      await onLook(takenAt.size === 0 ? 0 : performance.now() - first)
      await sleep(LOOK_EVERY_MS)
    }
    await look()
  }

  const watching = watch().catch((error: Error) => {
    onFailure()
    throw new TrialError(`the locks could not be watched, so the trial was ended: ${error.message}. Nothing was changed; try again`)
  })
  // Reported by end().
  watching.catch(() => undefined)

  return {
    /** Reads the locks once more, and stops. Throws if the locks could not be read. */
    async end() {
      isEnding = true
      await watching
    },
    /** Why a lock could not be taken, as far as it was seen. */
    obstacle: () => obstacle,
    waits(until: number): Wait[] {
      const all = [...takenAt.values()].map(({ table, blocks, at }) => ({ table, blocks, forMs: Math.max(0, until - at) }))
      // Whoever cannot read a table cannot write it either, nor any of its rows.
      const strength = ({ blocks }: Wait) => BY_STRENGTH.indexOf(blocks)
      const covers = (wait: Wait, other: Wait) =>
        wait.table === other.table && strength(wait) > strength(other) && wait.forMs >= other.forMs
      return all.filter((wait) => !all.some((other) => covers(other, wait)))
    },
  }
}
