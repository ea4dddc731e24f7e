import { createReadStream } from 'node:fs'
import { type FileRecord, MAX_RECORD_BYTES, NotThatFile, tooLong } from './records.ts'

const CHUNK_BYTES = 64 * 1024
const LINE_BREAK = 0x0a
const QUOTE = 0x22

type Read = (line: number, bytes: Buffer) => FileRecord | undefined

/** Reads the records of a file that are separated by line breaks. In CSV, a line break between quotation marks is a part of the record. */
export async function* splitRecords(file: string, read: Read, isCsv = false): AsyncGenerator<readonly FileRecord[]> {
  let held: Buffer[] = []
  let heldBytes = 0
  let firstLine = 1
  let line = 1
  let isQuoted = false

  function complete(last: Buffer): FileRecord | undefined {
    const start = firstLine
    const isLong = heldBytes + last.length > MAX_RECORD_BYTES
    const record = isLong ? tooLong(start, held[0] ?? last) : read(start, held.length === 0 ? last : Buffer.concat([...held, last]))
    held = []
    heldBytes = 0
    return record
  }

  /** Keeps the beginning of a record whose end is in a later chunk, and no more of it than a record may have. */
  function hold(rest: Buffer): void {
    if (heldBytes <= MAX_RECORD_BYTES) held.push(Buffer.from(rest))
    heldBytes += rest.length
  }

  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    const records: FileRecord[] = []
    let start = 0
    for (let place = nextMark(chunk, 0, isCsv); place !== -1; place = nextMark(chunk, place + 1, isCsv)) {
      if (chunk[place] === QUOTE) isQuoted = !isQuoted
      else line++
      if (isQuoted || chunk[place] === QUOTE) continue
      const record = complete(chunk.subarray(start, place))
      if (record !== undefined) records.push(record)
      start = place + 1
      firstLine = line
    }
    hold(chunk.subarray(start))
    if (records.length > 0) yield records
  }
  if (isQuoted) throw new NotThatFile(`it ends inside of quotation marks, in the record that begins on line ${firstLine}; is it complete?`)
  const record = complete(Buffer.alloc(0))
  if (record !== undefined) yield [record]
}

/** The place of the next line break or, in CSV, of the next quotation mark if that comes first. */
function nextMark(chunk: Buffer, from: number, isCsv: boolean): number {
  if (!isCsv) return chunk.indexOf(LINE_BREAK, from)
  for (let place = from; place < chunk.length; place++) if (chunk[place] === LINE_BREAK || chunk[place] === QUOTE) return place
  return -1
}
