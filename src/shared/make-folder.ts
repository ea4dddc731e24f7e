import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder that only its owner can enter, and those above it. Node's own way of doing so never ends where the system says
 * of every folder that it is not there, as it does under /proc.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
