import { writeFileSync } from 'node:fs'
import { createDraft, type Draft } from '../../shared/files.ts'
import { printError } from '../terminal/output.ts'
import { explaining } from '../terminal/refusals.ts'
import type { FileRecord } from './records.ts'

/** The name under which the reason is added to a user. Readers ignore it. */
export const REASON = '_rejected'

/**
 * Reports each rejected user, and keeps it in a file if one is named. The file has JSON lines with what the source said about the user,
 * so that it can be imported with the same command. Only its owner may read it: it contains password hashes.
 */
export function createRejects(file: string | undefined) {
  const failure = `--rejects: ${file} cannot be written`
  const draft = file === undefined ? undefined : explaining(failure, () => open(file))
  return {
    add(record: FileRecord, reason: string): void {
      const line = `line ${record.line}: ${reason}`
      printError(line)
      if (draft !== undefined) explaining(failure, () => writeFileSync(draft.descriptor, `${textOf(record, line)}\n`))
    },
    [Symbol.dispose]: () => draft?.[Symbol.dispose](),
  }
}

function textOf(record: FileRecord, reason: string): string {
  try {
    return JSON.stringify({ ...('value' in record ? record.value : { _text: record.text }), [REASON]: reason })
  } catch {
    // An object that is nested too deeply to be written, though it could be read.
    return JSON.stringify({ [REASON]: reason })
  }
}

/** Empty in its place from the beginning, so that an import that is interrupted leaves the users that were rejected until then. */
function open(file: string): Draft {
  const draft = createDraft(file)
  try {
    draft.place({ mayReplace: true })
  } catch (error) {
    draft[Symbol.dispose]()
    throw error
  }
  return draft
}
