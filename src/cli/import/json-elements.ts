import { createRecordBuffer, type FileRecord, NotThatFile, readChunks, readJson } from './records.ts'

/**
 * Reads the elements of one list of a JSON file, without holding the file in memory: the list that is the file, or the one with this name
 * in the object that is the file. Everything beside the list is passed over.
 */
export async function* readElements(file: string, listName?: string): AsyncGenerator<readonly FileRecord[]> {
  const structure = createStructure(listName)
  const readChunk = createChunkReader(structure)
  for await (const chunk of readChunks(file)) {
    const records = readChunk(chunk)
    if (records.length > 0) yield records
  }
  structure.requireComplete()
}

/** Returns a function that reads the elements which end in a chunk, and keeps the beginning of the one that does not. */
function createChunkReader(structure: JsonStructure): (chunk: Buffer) => FileRecord[] {
  const buffer = createRecordBuffer(readJson)
  /** The line on which the element that is being read begins. */
  let firstLine: number | undefined
  return (chunk) => {
    const records: (FileRecord | undefined)[] = []
    let start = 0
    for (let place = 0; place < chunk.length; place++) {
      const mark = structure.step(chunk[place] ?? 0)
      if (mark === 'begins') {
        firstLine = structure.line()
        start = place
      } else if (mark === 'ends' && firstLine !== undefined) {
        records.push(buffer.complete(firstLine, chunk.subarray(start, place)))
        firstLine = undefined
      }
    }
    if (firstLine !== undefined) buffer.hold(chunk.subarray(start))
    return records.filter((record) => record !== undefined)
  }
}

const [QUOTE, BACKSLASH, LINE_BREAK, COMMA] = [0x22, 0x5c, 0x0a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
const MAX_NAME_BYTES = 100

type JsonStructure = ReturnType<typeof createStructure>

/** Follows a JSON file byte by byte, to find the elements of one list: the list that is the file or, with a name, the list with this name in the object that is the file. */
function createStructure(listName?: string) {
  const listDepth = listName === undefined ? 1 : 2
  let line = 1
  let depth = 0
  let isText = false
  let isEscaped = false
  /** The last text of the outermost object, which is the name of what follows it. */
  let name: number[] = []
  let hasList = false
  let isInList = false
  let isInElement = false
  let hasEnded = false

  function followText(byte: number): void {
    if (isEscaped) isEscaped = false
    else if (byte === BACKSLASH) isEscaped = true
    else if (byte === QUOTE) isText = false
    if (isText && depth === 1 && name.length < MAX_NAME_BYTES) name.push(byte)
  }

  function openText(): void {
    isText = true
    if (depth === 1) name = []
  }

  function open(byte: number): void {
    depth++
    const isList = byte === OPEN_BRACKET && depth === listDepth && (listName === undefined || String.fromCharCode(...name) === listName)
    if (!isList) return
    if (hasList) throw new NotThatFile(`it contains the list ${listName} twice`)
    hasList = true
    isInList = true
  }

  function close(): void {
    depth--
    if (depth < listDepth) isInList = false
    if (depth === 0) hasEnded = true
  }

  function follow(byte: number): void {
    if (byte === LINE_BREAK) line++
    if (isText) followText(byte)
    else if (byte === QUOTE) openText()
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open(byte)
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) close()
  }

  return {
    /** Whether an element of the list begins with this byte, or ends before it. */
    step(byte: number): 'begins' | 'ends' | undefined {
      if (hasEnded && !isSpace(byte)) throw new NotThatFile(`line ${line} has text after the end of the JSON`)
      const isBetween = isInList && depth === listDepth && !isText
      follow(byte)
      if (!isBetween) return undefined
      const isSeparator = byte === COMMA || byte === CLOSE_BRACKET
      if (isInElement ? !isSeparator : isSeparator || isSpace(byte)) return undefined
      isInElement = !isInElement
      return isInElement ? 'begins' : 'ends'
    },
    /** The line of the last byte. */
    line: () => line,
    /** Throws if the file has ended in the middle, or without the list. */
    requireComplete(): void {
      if (depth !== 0 || isText) throw new NotThatFile('it ends in the middle; is it complete?')
      if (!hasList) throw new NotThatFile(listName === undefined ? 'it contains no list' : `it contains no list with the name ${listName}`)
    },
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === LINE_BREAK || byte === 0x0d
}
