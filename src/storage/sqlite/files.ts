import { realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../model/refusal.ts'

/** Throws `unavailable` unless a restart would open the files that are open now. */
export type FileWatch = () => void

/**
 * SQLite keeps writing to files that were moved, removed or replaced, and those writes are lost when the process ends. The check costs a few
 * microseconds. When the files are gone, `rescue` is called until it succeeds, once per loss: it moves the write-ahead log into the database
 * file, wherever that is by now, so that a log that was left behind cannot change the file that took its place.
 */
export function watchFiles(file: string, rescue: () => boolean): FileWatch {
  // If the name is a link, SQLite keeps its log beside the file that the link points to.
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

/** Undefined if the file does not exist or is not accessible. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path)
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}
