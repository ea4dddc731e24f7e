import type { FileHandle } from 'node:fs/promises'

const PROBE_BYTES = 4096
const SAMPLES = 64
const LINE_BREAK = 10

export type PasswordFile = { includes(password: string): Promise<boolean> }

/** Bytes in latin1, so that texts compare as `LC_ALL=C sort` compares them. */
type Line = { readonly start: number; readonly end: number; readonly text: string }

/**
 * Searches a file of passwords, one per line, ordered by bytes. Nothing is kept in memory: a search is a binary search of small reads.
 * Undefined if samples of the file are not ordered. `start` is the offset of the first line.
 */
export async function openPasswordFile(handle: FileHandle, start: number, size: number): Promise<PasswordFile | undefined> {
  let ending = ''

  /** The first line that starts at an offset or later. */
  async function lineFrom(offset: number, length = PROBE_BYTES): Promise<Line | undefined> {
    // The byte before the offset says whether a line starts there.
    const from = offset === start ? start : offset - 1
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from)
    const bytes = buffer.subarray(0, bytesRead)
    const first = offset === start ? 0 : afterBreak(bytes)
    const end = bytes.indexOf(LINE_BREAK, first)
    if (end !== -1) return { start: from + first, end: from + end, text: bytes.toString('latin1', first, end) }
    const isWhole = bytesRead === 0 || from + bytesRead >= size
    if (!isWhole) return lineFrom(offset, length * 2)
    if (first >= bytesRead) return undefined
    // The last line may have no line break.
    const text = bytes.toString('latin1', first)
    return { start: from + first, end: size, text: text.endsWith(ending) ? text : text + ending }
  }

  async function isOrdered(): Promise<boolean> {
    let previous = ''
    for (let sample = 0; sample < SAMPLES; sample++) {
      const line = await lineFrom(start + Math.floor(((size - start) * sample) / SAMPLES))
      if (line === undefined) continue
      const next = (await lineFrom(line.end + 1)) ?? line
      if (line.text < previous || next.text < line.text) return false
      previous = next.text
    }
    return true
  }

  const firstLine = await lineFrom(start)
  if (firstLine?.text.endsWith('\r')) ending = '\r'

  async function includes(password: string): Promise<boolean> {
    const wanted = Buffer.from(password).toString('latin1') + ending
    let low = start
    let high = size
    // The wanted line starts at `low` or later, and before `high`.
    while (low < high) {
      const line = await lineFrom(low + Math.floor((high - low) / 2))
      if (line?.text === wanted) return true
      if (line === undefined || line.start >= high || line.text > wanted) high = low + Math.floor((high - low) / 2)
      else low = line.end + 1
    }
    return false
  }

  return (await isOrdered()) ? { includes } : undefined
}

/** Where the next line starts; the end if there is none. */
function afterBreak(bytes: Buffer): number {
  const found = bytes.indexOf(LINE_BREAK)
  return found === -1 ? bytes.length : found + 1
}
