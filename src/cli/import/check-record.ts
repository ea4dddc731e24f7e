import { type CheckOptions, checkUser } from '../../domain/import/check-user.ts'
import { type ImportedUser, type JsonObject, Rejected } from '../../domain/import/imported-user.ts'
import type { Blocklist } from '../../security/blocklist.ts'
import type { FileRecord } from './records.ts'
import type { Source } from './sources/source.ts'

/** What a record of a file is: a user of its source, something to reject with a reason, or nothing that counts. */
export type Recognised = { readonly value: JsonObject } | { readonly reason: string } | undefined
export type Checked = { readonly user: ImportedUser } | { readonly reason: string }

export function recogniseRecord(record: FileRecord, source: Source): Recognised {
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
