import { createReadStream } from 'node:fs'
import { type FileRecord, MAX_RECORD_BYTES, NotThatFile, readJson, tooLong } from './records.ts'

const CHUNK_BYTES = 64 * 1024
const [QUOTE, BACKSLASH, LINE_BREAK] = [0x22, 0x5c, 0x0a]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
const MAX_NAME_BYTES = 100

/**
 * Reads the objects of one list of a JSON file, without holding the file in memory: the list that is the file, or the one with this name
 * in the object that is the file. Everything beside the list is passed over.
 */
export async function* readElements(file: string, listName: string | undefined): AsyncGenerator<readonly FileRecord[]> {
  const scan = createScan(listName)
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    const records = scan.read(chunk)
    if (records.length > 0) yield records
  }
  scan.end()
}

type Mark = 'begins' | 'ends' | undefined

function createScan(listName: string | undefined) {
  const listDepth = listName === undefined ? 1 : 2
  let line = 1
  let depth = 0
  let isText = false
  let isEscaped = false
  /** The last text of the outermost object, which is the name of what follows it. */
  let name: number[] = []
  let isInList = false
  let hasList = false
  /** The object that is being read: where it begins, and its bytes in earlier chunks. */
  let objectLine: number | undefined
  let held: Buffer[] = []
  let heldBytes = 0

  function hold(bytes: Buffer): void {
    if (heldBytes <= MAX_RECORD_BYTES) held.push(Buffer.from(bytes))
    heldBytes += bytes.length
  }

  function completed(last: Buffer): FileRecord {
    hold(last)
    const start = objectLine ?? line
    const record = heldBytes > MAX_RECORD_BYTES ? undefined : readJson(start, Buffer.concat(held))
    const [beginning = last] = held
    held = []
    heldBytes = 0
    objectLine = undefined
    return record ?? tooLong(start, beginning)
  }

  function inText(byte: number): undefined {
    if (isEscaped) isEscaped = false
    else if (byte === BACKSLASH) isEscaped = true
    else if (byte === QUOTE) isText = false
    if (isText && depth === 1 && name.length < MAX_NAME_BYTES) name.push(byte)
  }

  function open(byte: number): Mark {
    const isObject = isInList && depth === listDepth && byte === OPEN_BRACE
    depth++
    const isList = byte === OPEN_BRACKET && depth === listDepth && (listName === undefined || String.fromCharCode(...name) === listName)
    if (isList && !hasList) {
      hasList = true
      isInList = true
    }
    return isObject ? 'begins' : undefined
  }

  function close(): Mark {
    depth--
    if (depth < listDepth) isInList = false
    return objectLine !== undefined && depth === listDepth ? 'ends' : undefined
  }

  /** Reads one byte. Returns whether an object of the list begins or ends with it. */
  function step(byte: number): Mark {
    if (byte === LINE_BREAK) line++
    if (isText) return inText(byte)
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return open(byte)
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return close()
    if (byte !== QUOTE) return undefined
    isText = true
    if (depth === 1) name = []
    return undefined
  }

  return {
    read(chunk: Buffer): FileRecord[] {
      const records: FileRecord[] = []
      let start = 0
      for (let place = 0; place < chunk.length; place++) {
        const mark = step(chunk[place] ?? 0)
        if (mark === 'begins') {
          objectLine = line
          start = place
        } else if (mark === 'ends') records.push(completed(chunk.subarray(start, place + 1)))
      }
      if (objectLine !== undefined) hold(chunk.subarray(start))
      return records
    },
    end(): void {
      if (depth !== 0 || isText) throw new NotThatFile('it ends in the middle; is it complete?')
      if (!hasList) throw new NotThatFile(listName === undefined ? 'it contains no list' : `it contains no list with the name ${listName}`)
    },
  }
}
