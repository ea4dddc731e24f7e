import { counted } from '../../shared/counted.ts'
import { type FileRecord, NotThatFile, readText, unreadable } from './records.ts'
import { splitRecords } from './split-records.ts'

// A field between quotation marks, which are doubled inside of it, or one without them.
const FIELD = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y

/** Reads CSV (RFC 4180) whose first record has the names of the columns. An empty field is null. */
export async function* readCsv(file: string, requiredColumns: readonly string[]): AsyncGenerator<readonly FileRecord[]> {
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
