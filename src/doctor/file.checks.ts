import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Config, ConfigError } from '../config/load.ts'
import { countTemplates } from '../delivery/mail/template.ts'
import { openBranding } from '../process/branding.ts'
import { secretKeyFile } from '../process/secrets.ts'
import { formerSecretsFile } from '../security/secret-key.ts'
import { counted } from '../shared/text.ts'
import { about, type Finding } from './finding.ts'

const DISK = about('disk')
const FILES = about('files')
const BRANDING = about('branding')
const DISK_ERROR_BYTES = 50_000_000
const DISK_WARNING_BYTES = 500_000_000
const OTHERS = 0o077
const OTHERS_WRITE = 0o022
const STICKY = 0o1000

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Checks the folder of the database or, with PostgreSQL, the folder of mails that are kept as files; its nearest parent that exists. */
export function checkDisk({ database }: Config, free = freeBytes): Finding[] {
  let folder = resolve(database.kind === 'sqlite' ? dirname(database.file) : 'data')
  while (!existsSync(folder)) folder = dirname(folder)
  const bytes = free(folder)
  const amount = bytes >= 10_000_000_000 ? `${Math.round(bytes / 1_000_000_000)} GB` : `${Math.round(bytes / 1_000_000)} MB`
  const message = `${amount} free at ${folder}`
  const advice = 'Free some space, or move the data to a larger disk. A service that cannot write answers 503.'
  if (bytes < DISK_ERROR_BYTES) return DISK.failure(message, advice)
  return bytes < DISK_WARNING_BYTES ? DISK.warning(message, advice) : DISK.ok(message)
}

/** Checks that other users of this machine can neither read nor replace private files. */
export function checkModes({ database }: Config, dotEnv = '.env'): Finding[] {
  if (process.platform === 'win32') return []
  const secret = secretKeyFile(database)
  const folder = database.kind === 'sqlite' ? dirname(database.file) : undefined
  // SQLite gives its side files the mode of the database.
  const files = database.kind === 'sqlite' && secret ? [database.file, secret, formerSecretsFile(secret), dotEnv] : [dotEnv]
  const privateFiles = files.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile())
  const findings = privateFiles
    .filter((file) => (statSync(file).mode & OTHERS) !== 0)
    .flatMap((file) => FILES.failure(`other users of this machine can read ${file} (mode ${modeOf(file)})`, `Run: chmod 600 ${file}`))
  if (folder !== undefined && existsSync(folder) && (statSync(folder).mode & OTHERS_WRITE) !== 0)
    findings.push(...FILES.failure(`other users of this machine can write to ${folder} (mode ${modeOf(folder)})`, adviceForFolder(folder)))
  if (findings.length > 0) return findings
  if (privateFiles.length === 0) return FILES.ok('no private files yet')
  return FILES.ok(`${counted(privateFiles.length, 'private file')}, closed to other users`)
}

/** A folder such as /tmp is open on purpose: closing it would break other programs. */
function adviceForFolder(folder: string): string {
  const isShared = (statSync(folder).mode & STICKY) !== 0
  return isShared ? 'Move the database to a folder that only the service uses: this one is shared.' : `Run: chmod go-w ${folder}`
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8).padStart(3, '0')
}

const ADVICE_FOR_BRANDING = 'Fix it in this file: the service does not start with it. docs/branding.md lists files and placeholders.'

/** Reads the logo and the mail templates as the start does. Without these settings there is nothing to report. */
export async function checkBranding(config: Config): Promise<readonly Finding[]> {
  const { brandColor, brandLogo, templatesDir } = config
  if (brandColor === undefined && brandLogo === undefined && templatesDir === undefined) return []
  try {
    const { templates } = await openBranding(config)
    const parts = countTemplates(templates)
    return BRANDING.ok(templatesDir === undefined ? 'valid' : `valid; ${counted(parts, 'text')} of mails in ${templatesDir}`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.errors.flatMap((line) => BRANDING.failure(line, ADVICE_FOR_BRANDING))
  }
}
