import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './errors.ts'

/** A file under a random name, which takes its place as a whole. It is removed when it is disposed of before that. */
export type Draft = Disposable & {
  readonly path: string
  readonly descriptor: number
  /** Puts the file in its place. A symbolic link there is replaced, never followed; without `mayReplace`, any file there is an error. */
  place(options: PlaceOptions): void
}

type PlaceOptions = {
  readonly mayReplace: boolean
  /** Whether the file must survive a power failure from now on. */
  readonly isFlushed?: boolean
}

const OWNER_ONLY = 0o600
// A file system without hard links answers with one of these.
const NO_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'])

/**
 * Every file that appears under a name that was chosen before is created here: an export, a backup, a secret, a mail. Only its owner may
 * read it. Others may be able to write to the folder, so that nothing that exists there is opened.
 */
export function createDraft(file: string): Draft {
  // Replacing /dev/stdout by a file would harm other programs.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw new Error('it is not a regular file')
  const path = `${file}.${randomBytes(8).toString('hex')}.part`
  // An exclusive creation fails if the name exists, also as a symbolic link.
  const descriptor = openSync(path, 'wx', OWNER_ONLY)
  return {
    path,
    descriptor,
    place({ mayReplace, isFlushed = true }) {
      if (isFlushed) fsyncSync(descriptor)
      if (mayReplace) renameSync(path, file)
      else placeNew(path, file)
      if (isFlushed) flushFolder(dirname(file))
    },
    [Symbol.dispose]() {
      closeSync(descriptor)
      rmSync(path, { force: true })
    },
  }
}

/** Whether a name is in use, also by a symbolic link to nowhere. */
export function isTaken(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}

/** Creating a link never replaces a file; a rename does. */
function placeNew(path: string, file: string): void {
  try {
    linkSync(path, file)
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) throw error
    closeSync(openSync(file, 'wx', OWNER_ONLY))
    renameSync(path, file)
  }
}

/** After a power failure the new name must exist. */
function flushFolder(folder: string): void {
  // Windows cannot open a folder.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Creates a folder, and its parents, that only the owner can enter. Node's recursive mkdir never returns where the system reports
 * every folder as missing, as it does under /proc.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process has created it in the meantime.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}
