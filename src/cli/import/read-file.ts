import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { isObject, type JsonObject } from '../../model/entity.ts'
import { counted } from '../../shared/text.ts'
import { readElements } from './json-elements.ts'
import {
  createRecordBuffer,
  type FileRecord,
  MAX_RECORD_BYTES,
  NotThatFile,
  parseJson,
  type ReadRecord,
  readChunks,
  readJson,
  readText,
  unreadable,
} from './records.ts'
import type { Source } from './sources/source.ts'

// Contains the first line, if that is a user.
const HEAD_BYTES = 2 * MAX_RECORD_BYTES

const COMPRESSED = 'it is compressed; decompress it first'
const UTF_16 = 'it is encoded in UTF-16; save it as UTF-8'
/** Files that are recognised by their first bytes, and cannot be read. */
const UNREADABLE_FILES: readonly (readonly [problem: string, ...beginning: number[]])[] = [
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
  const [firstLine = ''] = head.split('\n', 1)
  const first = parseJson(firstLine)
  return !isObject(first) || listName in first
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
    for (const [problem, ...beginning] of UNREADABLE_FILES)
      if (beginning.every((byte, place) => bytes[place] === byte)) throw new NotThatFile(problem)
    // Also removes a byte order mark.
    return bytes.toString('utf8', 0, length).trimStart()
  } finally {
    closeSync(descriptor)
  }
}

// A field between quotation marks, which are doubled inside of it, or one without them.
const FIELD = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y

/** Reads CSV (RFC 4180) whose first record has the names of the columns. An empty field is null. */
async function* readCsv(file: string, requiredColumns: readonly string[]): AsyncGenerator<readonly FileRecord[]> {
  let names: readonly string[] | undefined

  function readHeader(line: number, bytes: Buffer): FileRecord | undefined {
    const text = readText(line, bytes)
    if (text === undefined) return undefined
    const fields = typeof text === 'string' ? splitFields(text) : undefined
    names = fields?.map((name) => name.trim().toLowerCase())
    const missing = requiredColumns.filter((name) => names?.includes(name) !== true)
    if (names === undefined || missing.length > 0)
      throw new NotThatFile(`line ${line} should name the columns, with ${requiredColumns.join(', ')} among them`)
    const unnamed = names.filter((name) => name === '').length
    if (unnamed > 1) throw new NotThatFile(`line ${line} has ${unnamed} columns without a name`)
    if (new Set(names).size < names.length) throw new NotThatFile(`line ${line} names a column twice`)
    return undefined
  }

  function read(line: number, bytes: Buffer): FileRecord | undefined {
    if (names === undefined) return readHeader(line, bytes)
    const text = readText(line, bytes)
    if (typeof text !== 'string') return text
    const fields = splitFields(text)
    if (fields === undefined) return unreadable(line, 'has a quotation mark in the wrong place', bytes)
    if (fields.length !== names.length) return unreadable(line, `has ${counted(fields.length, 'column')} instead of ${names.length}`, bytes)
    return { line, value: Object.fromEntries(names.map((name, place) => [name, fields[place] || null])) }
  }

  yield* splitRecords(file, read, { isCsv: true })
  if (names === undefined) throw new NotThatFile('the file is empty')
}

/** Undefined if the quotation marks of a record are wrong. */
function splitFields(record: string): string[] | undefined {
  const text = record.endsWith('\r') ? record.slice(0, -1) : record
  const fields: string[] = []
  FIELD.lastIndex = 0
  for (;;) {
    const match = FIELD.exec(text)
    if (match === null) return undefined
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] === '') return fields
  }
}

const LINE_BREAK = 0x0a
const QUOTE = 0x22

/** Reads the records of a file that are separated by line breaks. In CSV, a line break between quotation marks is a part of the record. */
async function* splitRecords(
  file: string,
  read: ReadRecord,
  { isCsv }: { readonly isCsv: boolean } = { isCsv: false },
): AsyncGenerator<readonly FileRecord[]> {
  const buffer = createRecordBuffer(read)
  let firstLine = 1
  let line = 1
  let isQuoted = false

  for await (const chunk of readChunks(file)) {
    const records: FileRecord[] = []
    let start = 0
    for (let place = nextMark(chunk, 0, isCsv); place !== -1; place = nextMark(chunk, place + 1, isCsv)) {
      if (chunk[place] === QUOTE) isQuoted = !isQuoted
      else line++
      if (isQuoted || chunk[place] === QUOTE) continue
      const record = buffer.complete(firstLine, chunk.subarray(start, place))
      if (record !== undefined) records.push(record)
      start = place + 1
      firstLine = line
    }
    buffer.hold(chunk.subarray(start))
    if (records.length > 0) yield records
  }
  if (isQuoted) throw new NotThatFile(`it ends inside of quotation marks, in the record that begins on line ${firstLine}; is it complete?`)
  const record = buffer.complete(firstLine, Buffer.alloc(0))
  if (record !== undefined) yield [record]
}

/** The place of the next line break or, in CSV, of the next quotation mark if that comes first. */
function nextMark(chunk: Buffer, from: number, isCsv: boolean): number {
  if (!isCsv) return chunk.indexOf(LINE_BREAK, from)
  for (let place = from; place < chunk.length; place++) if (chunk[place] === LINE_BREAK || chunk[place] === QUOTE) return place
  return -1
}
