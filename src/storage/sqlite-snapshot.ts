import type { DatabaseSync } from 'node:sqlite'

export type Snapshot = {
  /** Keeps the state of the file, as it is now, for what is read until the end of this turn of the event loop. */
  hold(): void
  release(): void
}

/**
 * To take a snapshot of the file and to give it back costs SQLite more than to find a row: what is read within one turn of the event
 * loop shares one. Before anything is written it is given back, so that each read sees every write of this process, and that a
 * checkpoint may empty the write-ahead log. A request that comes after another process has written comes in a later turn.
 */
export function createSnapshot(connection: DatabaseSync): Snapshot {
  const begin = connection.prepare('begin')
  const end = connection.prepare('rollback')
  let isHeld = false

  function release(): void {
    if (!isHeld) return
    isHeld = false
    // A fault of the disk may have ended it already.
    if (connection.isTransaction) end.run()
  }

  return {
    hold() {
      if (isHeld) return
      begin.run()
      isHeld = true
      setImmediate(release)
    },
    release,
  }
}
