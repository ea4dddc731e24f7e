import { hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

const HASH_DIGITS = 40
// The longest line: a hash, a colon, a count and a line break. A read of this many bytes contains the beginning of a line, and its hash.
const HASH_PROBE_BYTES = 192
const BLOCK_BYTES = 4096
const SAMPLES = 64
const LINE_BREAK = 10
const HASH = /^[0-9A-F]{40}$/

type HashLine = { readonly start: number; readonly hash: string }

/**
 * Searches a file of SHA-1 hashes in ascending order, one per line, as the Pwned Passwords downloader writes it. Nothing is kept in memory:
 * a search is a binary search of small reads outside of the event loop, about 23 of them in a file of 40 GB.
 */
export async function openHashFile(handle: FileHandle, size: number) {
  /** The first line that starts at an offset or later, if there is one within a probe. */
  async function lineFrom(offset: number): Promise<HashLine | undefined> {
    // The byte before the offset says whether a line starts there.
    const from = Math.max(offset - 1, 0)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HASH_PROBE_BYTES), 0, HASH_PROBE_BYTES, from)
    const found = offset === 0 ? -1 : buffer.subarray(0, bytesRead).indexOf(LINE_BREAK)
    if (offset > 0 && found === -1) return undefined
    const text = buffer.toString('latin1', found + 1, Math.min(found + 1 + HASH_DIGITS, bytesRead)).toUpperCase()
    return text === '' ? undefined : { start: from + found + 1, hash: text }
  }

  async function requireOrder(): Promise<void> {
    let previous = ''
    for (let sample = 0; sample < SAMPLES; sample++) {
      const line = await lineFrom(Math.floor((size * sample) / SAMPLES))
      if (line === undefined) continue
      if (!HASH.test(line.hash)) throw new Error(`has a line without a SHA-1 hash, at byte ${line.start}`)
      if (line.hash < previous) throw new Error(`is not ordered by hash, at byte ${line.start}`)
      previous = line.hash
    }
  }

  async function includes(password: string): Promise<boolean> {
    const wanted = hash('sha1', password).toUpperCase()
    let low = 0
    let high = size
    // A line with the wanted hash starts at `low` or later, and before `high`.
    while (high - low > BLOCK_BYTES) {
      const middle = low + Math.floor((high - low) / 2)
      const line = await lineFrom(middle)
      if (line === undefined || line.start >= high || line.hash > wanted) high = middle
      else if (line.hash === wanted) return true
      else low = line.start + HASH_DIGITS
    }
    return blockIncludes(low, high, wanted)
  }

  async function blockIncludes(low: number, high: number, wanted: string): Promise<boolean> {
    const from = Math.max(low - HASH_DIGITS, 0)
    const length = high - from + HASH_PROBE_BYTES
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from)
    const lines = buffer.toString('latin1', 0, bytesRead).split('\n')
    return lines.some((line) => line.slice(0, HASH_DIGITS).toUpperCase() === wanted)
  }

  await requireOrder()
  return { includes, close: () => handle.close() }
}

const PROBE_BYTES = 4096

/** Bytes in latin1, so that texts compare as `LC_ALL=C sort` compares them. */
type Line = { readonly start: number; readonly end: number; readonly text: string }

/**
 * Searches a file of passwords, one per line, ordered by bytes. Nothing is kept in memory: a search is a binary search of small reads.
 * Undefined if samples of the file are not ordered. `start` is the offset of the first line.
 */
export async function openPasswordFile(handle: FileHandle, start: number, size: number) {
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
