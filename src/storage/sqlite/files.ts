import { realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../model/refusal.ts'

/** Throws `unavailable` unless the files that are open are the ones that a restart would open. */
export type FileWatch = () => void

/**
 * SQLite goes on with files that were moved, removed or replaced under it, and what it writes there is gone with the process. To look costs
 * a few microseconds. `rescue` is tried until it says that it is done, once for each time that the files go: what is in the write-ahead log
 * then goes to the database file, wherever that is by now, and a log that was left behind does not change the file that is in its place.
 */
export function watchFiles(file: string, rescue: () => boolean): FileWatch {
  // SQLite keeps its log beside the file itself, where the name is a link.
  const opened = [file, `${realpathSync(file)}-wal`].map((path) => ({ path, identity: identityOf(path) }))
  let isRescued = false

  return () => {
    const lost = opened.find(({ path, identity }) => identityOf(path) !== identity)
    if (lost === undefined) {
      isRescued = false
      return
    }
    if (!isRescued) isRescued = rescue()
    throw new Refusal(
      'unavailable',
      `SQLite: ${lost.path} was moved, removed or replaced while the service had it open. Nothing is written until it is back; otherwise stop the service, restore a backup if the database is gone, and start it again`,
    )
  }
}

/** Undefined for what is not there, or may not be looked at. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path)
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}
