import type { DatabaseSync } from 'node:sqlite'

export type Snapshot = {
  /** Keeps the state of the file, as it is now, for what is read until the end of this turn of the event loop. */
  hold(): void
  release(): void
}

/**
 * To take a snapshot of the file and to give it back costs SQLite more than to find a row: what requests ask for as they come in, which
 * is who they are, shares one within a turn of the event loop. Before anything is written it is given back, so that each read sees every
 * write of this process, and that a checkpoint may empty the write-ahead log.
 *
 * It is for reads that happen as a request arrives. What is read later in the turn, once its input has been gone through, would keep the
 * snapshot until the end of the next one, and show requests that arrive then a state from before another process's write.
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
      if (!connection.isTransaction) begin.run()
      isHeld = true
      setImmediate(release)
    },
    release,
  }
}

/** For several processes on one file: with all of them holding snapshots, there might never be a moment to empty the write-ahead log. */
export const NO_SNAPSHOT: Snapshot = { hold: () => undefined, release: () => undefined }
