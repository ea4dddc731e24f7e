import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './system-errors.ts'

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
