import { createReadStream } from 'node:fs'
import { type FileRecord, MAX_RECORD_BYTES, NotThatFile, readJson, tooLong } from './records.ts'

const CHUNK_BYTES = 64 * 1024
const [QUOTE, BACKSLASH, LINE_BREAK, COMMA] = [0x22, 0x5c, 0x0a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
const MAX_NAME_BYTES = 100

/**
 * Reads the elements of one list of a JSON file, without holding the file in memory: the list that is the file, or the one with this name
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

/** An element of the list begins with this byte, or ends before it. */
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
  let hasEnded = false
  /** The element that is being read: where it begins, and its bytes in earlier chunks. */
  let elementLine: number | undefined
  let held: Buffer[] = []
  let heldBytes = 0

  function hold(bytes: Buffer): void {
    if (heldBytes <= MAX_RECORD_BYTES) held.push(Buffer.from(bytes))
    heldBytes += bytes.length
  }

  function completed(last: Buffer): FileRecord | undefined {
    hold(last)
    const start = elementLine ?? line
    const [beginning = last] = held
    const record = heldBytes > MAX_RECORD_BYTES ? tooLong(start, beginning) : readJson(start, Buffer.concat(held))
    held = []
    heldBytes = 0
    elementLine = undefined
    return record
  }

  function inText(byte: number): void {
    if (isEscaped) isEscaped = false
    else if (byte === BACKSLASH) isEscaped = true
    else if (byte === QUOTE) isText = false
    if (isText && depth === 1 && name.length < MAX_NAME_BYTES) name.push(byte)
  }

  function open(byte: number): void {
    depth++
    const isList = byte === OPEN_BRACKET && depth === listDepth && (listName === undefined || String.fromCharCode(...name) === listName)
    if (isList && hasList) throw new NotThatFile(`it contains the list ${listName} twice`)
    if (isList) {
      hasList = true
      isInList = true
    }
  }

  function close(): void {
    depth--
    if (depth < listDepth) isInList = false
    if (depth === 0) hasEnded = true
  }

  /** Follows the structure of the file, byte by byte. */
  function follow(byte: number): void {
    if (byte === LINE_BREAK) line++
    if (isText) inText(byte)
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open(byte)
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) close()
    else if (byte === QUOTE) {
      isText = true
      if (depth === 1) name = []
    }
  }

  function step(byte: number): Mark {
    if (hasEnded && !isSpace(byte)) throw new NotThatFile(`line ${line} has text after the end of the JSON`)
    const isBetween = isInList && depth === listDepth && !isText
    follow(byte)
    if (!isBetween) return undefined
    const isSeparator = byte === COMMA || byte === CLOSE_BRACKET
    if (elementLine !== undefined) return isSeparator ? 'ends' : undefined
    return isSeparator || isSpace(byte) ? undefined : 'begins'
  }

  return {
    read(chunk: Buffer): FileRecord[] {
      const records: (FileRecord | undefined)[] = []
      let start = 0
      for (let place = 0; place < chunk.length; place++) {
        const mark = step(chunk[place] ?? 0)
        if (mark === 'begins') {
          elementLine = line
          start = place
        } else if (mark === 'ends') records.push(completed(chunk.subarray(start, place)))
      }
      if (elementLine !== undefined) hold(chunk.subarray(start))
      return records.filter((record) => record !== undefined)
    },
    end(): void {
      if (depth !== 0 || isText) throw new NotThatFile('it ends in the middle; is it complete?')
      if (!hasList) throw new NotThatFile(listName === undefined ? 'it contains no list' : `it contains no list with the name ${listName}`)
    },
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === LINE_BREAK || byte === 0x0d
}
