import { NotThatFile } from './records.ts'

/** The structure of a JSON file, followed byte by byte, to find the elements of one list. */
export type JsonStructure = {
  /** Whether an element of the list begins with this byte, or ends before it. */
  step(byte: number): 'begins' | 'ends' | undefined
  /** The line of the last byte. */
  line(): number
  /** Throws if the file has ended in the middle, or without the list. */
  requireComplete(): void
}

const [QUOTE, BACKSLASH, LINE_BREAK, COMMA] = [0x22, 0x5c, 0x0a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
const MAX_NAME_BYTES = 100

/** Finds the list that is the file or, with a name, the list with this name in the object that is the file. */
export function createStructure(listName?: string): JsonStructure {
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
    step(byte) {
      if (hasEnded && !isSpace(byte)) throw new NotThatFile(`line ${line} has text after the end of the JSON`)
      const isBetween = isInList && depth === listDepth && !isText
      follow(byte)
      if (!isBetween) return undefined
      const isSeparator = byte === COMMA || byte === CLOSE_BRACKET
      if (isInElement ? !isSeparator : isSeparator || isSpace(byte)) return undefined
      isInElement = !isInElement
      return isInElement ? 'begins' : 'ends'
    },
    line: () => line,
    requireComplete() {
      if (depth !== 0 || isText) throw new NotThatFile('it ends in the middle; is it complete?')
      if (!hasList) throw new NotThatFile(listName === undefined ? 'it contains no list' : `it contains no list with the name ${listName}`)
    },
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === LINE_BREAK || byte === 0x0d
}
