import { type CheckOptions, checkUser } from '../../domain/import/check-user.ts'
import { type ImportedUser, type JsonObject, Rejected } from '../../domain/import/imported-user.ts'
import type { Blocklist } from '../../security/blocklist.ts'
import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import { createProgress } from '../terminal/progress.ts'
import { readList, readRecords } from './read-file.ts'
import { type FileRecord, NotThatFile } from './records.ts'
import type { Source } from './sources/source.ts'
import { createUnreadFields, type UnreadField, type UnreadFields } from './unread-fields.ts'

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
  const progress = createProgress('checking the file', { showsRate: true })
  const unread = createUnreadFields()
  const notes = createNotes(source, options, unread)
  try {
    await source.prepare?.((name) => readList(file, source, name), unread)
    for await (const records of readRecords(file, source)) {
      for (const record of records) notes.add(record)
      progress.update(notes.total())
    }
  } finally {
    progress.clear()
  }
  return notes.result()
}

function createNotes(source: Source, options: CheckOptions, unread: UnreadFields) {
  let [total, recognisedCount, plaintextCount] = [0, 0, 0]
  const usersByKind = new Map<string, number>()
  let first: ImportedUser | undefined
  let problem: string | undefined

  function check(record: FileRecord): ImportedUser | undefined {
    const checked = checkRecord(record, source, options)
    return checked !== undefined && 'user' in checked ? checked.user : undefined
  }

  /** A file may have any number of kinds, of which far fewer than this bound are accepted. */
  function countKind(kind: string): void {
    const users = usersByKind.get(kind) ?? 0
    if (users > 0 || usersByKind.size < MAX_LISTED_KINDS) usersByKind.set(kind, users + 1)
  }

  return {
    add(record: FileRecord): void {
      const recognised = recogniseRecord(record, source)
      if (recognised === undefined) return
      total++
      if ('reason' in recognised) {
        problem ??= `line ${record.line} ${recognised.reason}`
        return
      }
      recognisedCount++
      unread.count(recognised.value, source.fieldsOf(recognised.value))
      const user = check(record)
      if (user?.password !== undefined) plaintextCount++
      if (user?.foreignKind !== undefined) countKind(user.foreignKind)
      first ??= user
    },
    total: () => total,
    result(): Survey {
      if (recognisedCount === 0) throw new NotThatFile(problem ?? 'it contains no users')
      return { total, plaintextCount, first, usersByKind, unread: unread.list() }
    },
  }
}

/** What a record of a file is: a user of its source, something to reject with a reason, or nothing that counts. */
type Recognised = { readonly value: JsonObject } | { readonly reason: string } | undefined
type Checked = { readonly user: ImportedUser } | { readonly reason: string }

function recogniseRecord(record: FileRecord, source: Source): Recognised {
  if (!('value' in record)) return { reason: record.problem }
  if (source.isOther?.(record.value)) return undefined
  return source.isUser(record.value) ? record : { reason: `has no ${source.mark}, which every user of ${source.title} has` }
}

export function checkRecord(record: FileRecord, source: Source, options: CheckOptions): Checked | undefined {
  const recognised = recogniseRecord(record, source)
  if (recognised === undefined || 'reason' in recognised) return recognised
  try {
    return { user: checkUser(source.convert(recognised.value), record.line, options) }
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
