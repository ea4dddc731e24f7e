import type { CheckOptions } from '../../domain/moving/check-user.ts'
import type { ImportedUser } from '../../domain/moving/imported-user.ts'
import { createRateProgress } from '../terminal/progress.ts'
import { type Checked, checkRecord } from './check-record.ts'
import { readRecords } from './read-file.ts'
import { type FileRecord, NotThatFile } from './records.ts'
import type { Source } from './sources/source.ts'

export type Survey = {
  readonly total: number
  /** How many users have a password that has to be hashed. */
  readonly plaintextCount: number
  readonly first: ImportedUser | undefined
}

/** Reads the whole file before anything is imported. Throws if it is not what it claims to be. */
export async function surveyFile(file: string, source: Source, options: CheckOptions): Promise<Survey> {
  const progress = createRateProgress('checking the file')
  const notes = createNotes()
  try {
    for await (const records of readRecords(file, source)) {
      for (const record of records) notes.add(record, checkRecord(record, source, options))
      progress.update(notes.survey().total)
    }
  } finally {
    progress.clear()
  }
  return notes.result()
}

function createNotes() {
  let [total, recognised, plaintextCount] = [0, 0, 0]
  let first: ImportedUser | undefined
  let problem: string | undefined

  function noteUser(user: ImportedUser): void {
    first ??= user
    if (user.password !== undefined) plaintextCount++
  }

  return {
    add({ line }: FileRecord, checked: Checked): void {
      if (checked === undefined) return
      total++
      if ('user' in checked) noteUser(checked.user)
      if ('user' in checked || checked.isRecognised) recognised++
      else problem ??= `line ${line} ${checked.reason}`
    },
    survey: (): Survey => ({ total, plaintextCount, first }),
    result(): Survey {
      if (recognised === 0) throw new NotThatFile(problem ?? 'it contains no users')
      return this.survey()
    },
  }
}
