import { closeSync, openSync, readSync, statSync } from 'node:fs'
import type { JsonObject } from '../../domain/import/imported-user.ts'
import { readCsv } from './csv.ts'
import { readElements } from './json-elements.ts'
import { type FileRecord, MAX_RECORD_BYTES, NotThatFile, readJson } from './records.ts'
import type { Source } from './sources/source.ts'
import { splitRecords } from './split-records.ts'

// Contains the first line, if that is a user.
const HEAD_BYTES = 2 * MAX_RECORD_BYTES

const COMPRESSED = 'it is compressed; decompress it first'
const UTF_16 = 'it is encoded in UTF-16; save it as UTF-8'
/** Files that are recognised by their first bytes, and cannot be read. */
const UNREADABLE: readonly (readonly [problem: string, ...beginning: number[]])[] = [
  [COMPRESSED, 0x1f, 0x8b],
  [COMPRESSED, 0x50, 0x4b, 0x03, 0x04],
  [UTF_16, 0xff, 0xfe],
  [UTF_16, 0xfe, 0xff],
]

/** Reads the users of a file in pages. The beginning of the file shows whether it is JSON, JSON lines or CSV. */
export function readRecords(file: string, source: Source): AsyncGenerator<readonly FileRecord[]> {
  const head = readHead(file)
  if (head.startsWith('[')) return readElements(file)
  if (head.startsWith('{')) return isWrapped(head, source) ? readElements(file, source.listName) : splitRecords(file, readJson)
  if (head === '') throw new NotThatFile('it is empty')
  if (source.csvColumns === undefined) throw new NotThatFile('it is not JSON')
  return readCsv(file, source.csvColumns)
}

/** The objects of another list of the file. None if the file is not an object of lists, or has no such list. */
export async function* readList(file: string, source: Source, name: string): AsyncGenerator<readonly JsonObject[]> {
  const head = readHead(file)
  if (!head.startsWith('{') || !isWrapped(head, source)) return
  try {
    for await (const records of readElements(file, name)) yield records.flatMap((record) => ('value' in record ? [record.value] : []))
  } catch (error) {
    // The reading of the users reports a file that is damaged.
    if (!(error instanceof NotThatFile)) throw error
  }
}

/** Whether the list of users is in an object. A file of JSON lines begins with an object that is one user. */
function isWrapped(head: string, { listName }: Source): boolean {
  if (listName === undefined) return false
  try {
    const [firstLine = ''] = head.split('\n', 1)
    return listName in (JSON.parse(firstLine) as object)
  } catch {
    return true
  }
}

function readHead(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new NotThatFile('it does not exist')
  // The file is read twice: to check all of it before anything is imported, and to import.
  if (!stats.isFile()) throw new NotThatFile('it is not a regular file')
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(HEAD_BYTES)
    const length = readSync(descriptor, bytes)
    for (const [problem, ...beginning] of UNREADABLE)
      if (beginning.every((byte, place) => bytes[place] === byte)) throw new NotThatFile(problem)
    // Also removes a byte order mark.
    return bytes.toString('utf8', 0, length).trimStart()
  } finally {
    closeSync(descriptor)
  }
}
