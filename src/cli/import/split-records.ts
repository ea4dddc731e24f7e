import { createRecordBuffer, type FileRecord, NotThatFile, type ReadRecord, readChunks } from './records.ts'

const LINE_BREAK = 0x0a
const QUOTE = 0x22

/** Reads the records of a file that are separated by line breaks. In CSV, a line break between quotation marks is a part of the record. */
export async function* splitRecords(
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
