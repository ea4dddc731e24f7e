import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../shared/make-folder.ts'

const RANDOM_BYTES = 48

export function generateSecretKey(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/** Reads the secret from its file, which the first call creates. Of several processes that start together, one creates it. */
export function keptSecretKey(file: string): Uint8Array {
  return readKept(file) ?? makeKept(file)
}

function readKept(file: string): Uint8Array | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (text.length < 32)
      throw new Error(
        `${file} does not contain a secret key; restore it from a backup, or delete it to end all sessions and create a new one`,
      )
    return new TextEncoder().encode(text)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function makeKept(file: string): Uint8Array {
  makeFolder(dirname(file))
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, `${generateSecretKey()}\n`, { mode: 0o600, flush: true })
  try {
    // A hard link is atomic and never replaces a file: the first process wins, the others read its secret.
    linkSync(draft, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const kept = readKept(file)
  if (kept === undefined) throw new Error(`${file} disappeared while it was created`)
  return kept
}
