import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../config/load.ts'
import { secretKeyFile } from '../process/secrets.ts'
import { formerSecretsFile } from '../security/secret-key.ts'
import { counted } from '../shared/counted.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const DISK_ERROR_BYTES = 50_000_000
const DISK_WARNING_BYTES = 500_000_000
const OTHERS = 0o077
const OTHERS_WRITE = 0o022
const STICKY = 0o1000

export type FreeBytes = (folder: string) => number

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Checks the folder of the database or, with PostgreSQL, the folder of mails that are kept as files; its nearest parent that exists. */
export function checkDisk({ database }: Config, free: FreeBytes = freeBytes): Finding[] {
  let folder = resolve(database.kind === 'sqlite' ? dirname(database.file) : 'data')
  while (!existsSync(folder)) folder = dirname(folder)
  const bytes = free(folder)
  const amount = bytes >= 10_000_000_000 ? `${Math.round(bytes / 1_000_000_000)} GB` : `${Math.round(bytes / 1_000_000)} MB`
  const message = `${amount} free at ${folder}`
  const advice = 'Free some space, or move the data to a larger disk. A service that cannot write answers 503.'
  if (bytes < DISK_ERROR_BYTES) return [failure('disk', message, advice)]
  return [bytes < DISK_WARNING_BYTES ? warning('disk', message, advice) : ok('disk', message)]
}

/** Checks that other users of this machine can neither read nor replace private files. */
export function checkModes({ database }: Config, dotEnv = '.env'): Finding[] {
  if (process.platform === 'win32') return []
  // SQLite gives its side files the mode of the database.
  const files = database.kind === 'sqlite' ? [database.file] : []
  const secret = secretKeyFile(database)
  const privateFiles = [...files, ...(secret === undefined ? [] : [secret, formerSecretsFile(secret)]), dotEnv].filter((file) =>
    statSync(file, { throwIfNoEntry: false })?.isFile(),
  )
  const folder = database.kind === 'sqlite' ? dirname(database.file) : undefined
  const findings = privateFiles
    .filter((file) => (statSync(file).mode & OTHERS) !== 0)
    .map((file) => failure('files', `other users of this machine can read ${file} (mode ${modeOf(file)})`, `Run: chmod 600 ${file}`))
  if (folder !== undefined && existsSync(folder) && (statSync(folder).mode & OTHERS_WRITE) !== 0)
    findings.push(failure('files', `other users of this machine can write to ${folder} (mode ${modeOf(folder)})`, adviceForFolder(folder)))
  return findings.length > 0
    ? findings
    : [
        ok(
          'files',
          privateFiles.length === 0 ? 'no private files yet' : `${counted(privateFiles.length, 'private file')}, closed to other users`,
        ),
      ]
}

/** A folder such as /tmp is open on purpose: closing it would break other programs. */
function adviceForFolder(folder: string): string {
  const isShared = (statSync(folder).mode & STICKY) !== 0
  return isShared ? 'Move the database to a folder that only the service uses: this one is shared.' : `Run: chmod go-w ${folder}`
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8).padStart(3, '0')
}
