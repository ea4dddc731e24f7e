import { closeSync, openSync, writeSync } from 'node:fs'
import { explainSystemError } from '../../shared/system-errors.ts'
import type { FileRecord } from './records.ts'

/** The name under which the reason is added to a user. Readers ignore it. */
const REASON = '_rejected'

export type Rejects = {
  add(record: FileRecord, reason: string): void
  close(): void
}

/**
 * Reports each rejected user, and keeps it in a file if one is named. The file has JSON lines with what the source said about the user,
 * so that it can be imported with the same command. Only its owner may read it: it contains password hashes.
 */
export function createRejects(file: string | undefined): Rejects {
  const descriptor = file === undefined ? undefined : open(file)
  return {
    add(record, reason) {
      process.stderr.write(`latchkey: line ${record.line}: ${reason}\n`)
      if (descriptor === undefined) return
      const content = 'value' in record ? record.value : { _text: record.text }
      writeSync(descriptor, `${JSON.stringify({ ...content, [REASON]: `line ${record.line}: ${reason}` })}\n`)
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

function open(file: string): number {
  try {
    return openSync(file, 'w', 0o600)
  } catch (error) {
    throw new Error(`--rejects: ${file} cannot be written: ${explainSystemError(error)}`, { cause: error })
  }
}
