import { type CheckOptions, checkUser } from '../../domain/moving/check-user.ts'
import { type ImportedUser, Rejected } from '../../domain/moving/imported-user.ts'
import type { FileRecord } from './records.ts'
import type { Source } from './sources/source.ts'

/** What a record of a file is: a user, something to reject with a reason, or nothing that counts. */
export type Checked = { readonly user: ImportedUser } | { readonly reason: string; readonly isRecognised: boolean } | undefined

export function checkRecord(record: FileRecord, source: Source, options: CheckOptions): Checked {
  if (!('value' in record)) return { reason: record.problem, isRecognised: false }
  if (source.isOther?.(record.value)) return undefined
  if (!source.isUser(record.value)) return { reason: `has no ${source.mark}, which every user of ${source.title} has`, isRecognised: false }
  try {
    return { user: checkUser(source.convert(record.value), record.line, options) }
  } catch (error) {
    if (error instanceof Rejected) return { reason: error.message, isRecognised: true }
    throw error
  }
}
