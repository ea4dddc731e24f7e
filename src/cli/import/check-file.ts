import { type CheckOptions, checkUser } from '../../domain/import/check-user.ts'
import { type ImportedUser, Rejected } from '../../domain/import/imported-user.ts'
import type { Blocklist } from '../../security/blocklist.ts'
import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import { createProgress } from '../terminal/progress.ts'
import { readList, readRecords } from './read-file.ts'
import { type FileRecord, NotThatFile } from './records.ts'
import type { Source } from './sources/source.ts'
import { createUnreadFields, type UnreadField } from './unread-fields.ts'

export type Survey = {
  readonly total: number
  /** How many users have a password that has to be hashed. */
  readonly plaintextCount: number
  /** The first user that can be imported. */
  readonly first: ImportedUser | undefined
  /** How many users have a foreign hash of each kind. */
  readonly usersByKind: ReadonlyMap<string, number>
  /** What the import leaves out. */
  readonly unread: readonly UnreadField[]
}

/** Reads the whole file before anything is imported. Throws if it is not what it claims to be. */
export async function surveyFile(file: string, source: Source, options: CheckOptions): Promise<Survey> {
  using progress = createProgress('checking the file', { showsRate: true })
  const unread = createUnreadFields()
  const usersByKind = new Map<string, number>()
  let [total, plaintextCount, isRecognised] = [0, 0, false]
  let first: ImportedUser | undefined
  let problem: string | undefined

  function noteUser(user: ImportedUser): void {
    first ??= user
    if (user.password !== undefined) plaintextCount++
    if (user.foreignKind === undefined) return
    // A file may have any number of kinds, of which far fewer than this bound are accepted.
    const users = usersByKind.get(user.foreignKind) ?? 0
    if (users > 0 || usersByKind.size < MAX_LISTED_KINDS) usersByKind.set(user.foreignKind, users + 1)
  }

  function note(record: FileRecord): void {
    const checked = checkRecord(record, source, options)
    if (checked === undefined) return
    total++
    if ('value' in record && source.isUser(record.value)) {
      isRecognised = true
      unread.count(record.value, source.fieldsOf(record.value))
    } else if ('reason' in checked) problem ??= `line ${record.line} ${checked.reason}`
    if ('user' in checked) noteUser(checked.user)
  }

  await source.prepare?.((name) => readList(file, source, name), unread)
  for await (const records of readRecords(file, source)) {
    for (const record of records) note(record)
    progress.update(total)
  }
  if (!isRecognised) throw new NotThatFile(problem ?? 'it contains no users')
  return { total, plaintextCount, first, usersByKind, unread: unread.list() }
}

/** A user that can be imported, or the reason why a record is rejected. */
type Checked = { readonly user: ImportedUser } | { readonly reason: string }

/** Undefined if the record is nothing that counts. */
export function checkRecord(record: FileRecord, source: Source, options: CheckOptions): Checked | undefined {
  if (!('value' in record)) return { reason: record.problem }
  if (source.isOther?.(record.value)) return undefined
  if (!source.isUser(record.value)) return { reason: `has no ${source.mark}, which every user of ${source.title} has` }
  try {
    return { user: checkUser(source.convert(record.value), record.line, options) }
  } catch (error) {
    if (error instanceof Rejected) return { reason: error.message }
    throw error
  }
}

/** Checks a plaintext password further: what nobody could choose at a registration is not taken over either. */
export async function checkPlaintext(user: ImportedUser, blocklist: Blocklist, options: CheckOptions): Promise<Checked> {
  if (user.password === undefined || !(await blocklist.includes(user.password))) return { user }
  if (options.withoutPasswords) return { user: { ...user, password: undefined } }
  return {
    reason: 'password: is on a list of breached passwords (PASSWORD_BLOCKLIST); --without-passwords imports the user for a reset by mail',
  }
}
