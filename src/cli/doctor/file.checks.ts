import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../../config/load.ts'
import { parseSecretKey } from '../../config/values.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const DISK_FAULT_BYTES = 50_000_000
const DISK_WARNING_BYTES = 500_000_000
const OTHERS = 0o077
const OTHERS_WRITE = 0o022
const STICKY = 0o1000

export type FreeBytes = (folder: string) => number

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** The folder of the database or, with PostgreSQL, that of mails kept as files; its nearest part that exists. */
export function checkDisk({ database }: Config, free: FreeBytes = freeBytes): Finding[] {
  let folder = resolve(database.kind === 'sqlite' ? dirname(database.file) : 'data')
  while (!existsSync(folder)) folder = dirname(folder)
  const bytes = free(folder)
  const amount = bytes >= 10_000_000_000 ? `${Math.round(bytes / 1_000_000_000)} GB` : `${Math.round(bytes / 1_000_000)} MB`
  const message = `${amount} free at ${folder}`
  const advice = 'Make room, or move the data to a larger disk: a service that cannot write answers 503.'
  if (bytes < DISK_FAULT_BYTES) return [fault('disk', message, advice)]
  return [bytes < DISK_WARNING_BYTES ? warning('disk', message, advice) : ok('disk', message)]
}

/** A secret in the settings has been looked at with them; this is about the one that is kept in a file. */
export function checkSecret({ database, secretKey }: Config): Finding[] {
  if (secretKey !== undefined) return [ok('secret', `SECRET_KEY has ${secretKey.length} bytes`)]
  const file = secretFile(database)
  if (file === undefined || !existsSync(file)) return [ok('secret', 'none yet; the first start makes one')]
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    return [fault('secret', `${file} cannot be read: ${reasonOf(error)}`, 'Run as the user of the service, who owns the file.')]
  }
  const parsed = parseSecretKey(text)
  if ('value' in parsed) return [ok('secret', `${file} has ${parsed.value.length} bytes`)]
  const advice = 'Restore the file from where you keep it. Deleting it has a new one made, which ends all sessions and mailed links.'
  return [fault('secret', `what ${file} holds ${parsed.fault.split(';')[0]}`, advice)]
}

/** Who else on this machine may read what is secret, or put something else in its place. */
export function checkModes({ database }: Config, dotEnv = '.env'): Finding[] {
  if (process.platform === 'win32') return []
  // SQLite gives its side files the mode of the database.
  const files = database.kind === 'sqlite' ? [database.file] : []
  const secret = secretFile(database)
  const privateFiles = [...files, ...(secret === undefined ? [] : [secret]), dotEnv].filter((file) =>
    statSync(file, { throwIfNoEntry: false })?.isFile(),
  )
  const folder = database.kind === 'sqlite' ? dirname(database.file) : undefined
  const findings = privateFiles
    .filter((file) => (statSync(file).mode & OTHERS) !== 0)
    .map((file) => fault('files', `${file} is open to other users of this machine (mode ${modeOf(file)})`, `chmod 600 ${file}`))
  if (folder !== undefined && existsSync(folder) && (statSync(folder).mode & OTHERS_WRITE) !== 0)
    findings.push(fault('files', `other users may put files into ${folder} (mode ${modeOf(folder)})`, adviceForFolder(folder)))
  return findings.length > 0 ? findings : [ok('files', `${privateFiles.length} private files, none open to other users`)]
}

/** A folder such as /tmp is open by intention, and closing it would stop other programs. */
function adviceForFolder(folder: string): string {
  const isShared = (statSync(folder).mode & STICKY) !== 0
  return isShared ? 'Keep the database in a folder of its own: this one is for everybody.' : `chmod go-w ${folder}`
}

function secretFile(database: Config['database']): string | undefined {
  return database.kind === 'sqlite' ? join(dirname(database.file), 'secret.key') : undefined
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8).padStart(3, '0')
}
