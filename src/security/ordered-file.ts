import { hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

type OrderedFile = {
  readonly handle: FileHandle
  /** The offset of the first line. */
  readonly start: number
  readonly size: number
  /** What the lines are ordered by. A line is bytes in latin1, so that texts compare as `LC_ALL=C sort` compares them. */
  readonly keyOf: (line: string) => string
  /** A line that does not fit into a read of this many bytes takes further ones. */
  readonly probeBytes: number
}

type Line = { readonly start: number; readonly end: number; readonly key: string }

const BLOCK_BYTES = 4096
const SAMPLES = 64
const LINE_BREAK = 10

/**
 * Searches a file of lines in ascending order. Nothing is kept in memory: a search is a binary search of small reads outside of the event
 * loop, about 23 of them in a file of 40 GB.
 */
function createSearch({ handle, start, size, keyOf, probeBytes }: OrderedFile) {
  async function read(from: number, length: number): Promise<{ readonly bytes: Buffer; readonly isEnd: boolean }> {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from)
    return { bytes: buffer.subarray(0, bytesRead), isEnd: bytesRead === 0 || from + bytesRead >= size }
  }

  /** The first line that starts at an offset or later. */
  async function lineFrom(offset: number, length = probeBytes): Promise<Line | undefined> {
    // The byte before the offset says whether a line starts there.
    const from = offset === start ? start : offset - 1
    const { bytes, isEnd } = await read(from, length)
    const before = offset === start ? -1 : bytes.indexOf(LINE_BREAK)
    const first = before === -1 && offset !== start ? bytes.length : before + 1
    const lineBreak = bytes.indexOf(LINE_BREAK, first)
    if (lineBreak === -1 && !isEnd) return lineFrom(offset, length * 2)
    if (lineBreak === -1 && first >= bytes.length) return undefined
    const end = lineBreak === -1 ? bytes.length : lineBreak
    return { start: from + first, end: from + end, key: keyOf(bytes.toString('latin1', first, end)) }
  }

  async function* samples(): AsyncGenerator<Line> {
    for (let sample = 0; sample < SAMPLES; sample++) {
      const line = await lineFrom(start + Math.floor(((size - start) * sample) / SAMPLES))
      if (line !== undefined) yield line
    }
  }

  async function includes(wanted: string): Promise<boolean> {
    let low = start
    let high = size
    // A line with the wanted key starts at `low` or later, and before `high`.
    while (high - low > BLOCK_BYTES) {
      const middle = low + Math.floor((high - low) / 2)
      const line = await lineFrom(middle)
      if (line === undefined || line.start >= high || line.key > wanted) high = middle
      else if (line.key === wanted) return true
      else low = line.end + 1
    }
    const { bytes, isEnd } = await read(low, high - low + wanted.length + probeBytes)
    const lines = bytes.toString('latin1').split('\n')
    // The last one may be cut off, unless the file ends with it.
    return (isEnd ? lines : lines.slice(0, -1)).some((line) => line !== '' && keyOf(line) === wanted)
  }

  return { lineFrom, samples, includes }
}

const HASH_DIGITS = 40
const HASH = /^[0-9A-F]{40}$/
// Of an empty line at the end of the file: greater than every hash.
const NO_HASH = '~'

/** Searches a file of SHA-1 hashes in ascending order, one per line, as the Pwned Passwords downloader writes it. */
export async function openHashFile(handle: FileHandle, size: number) {
  const keyOf = (line: string) => line.slice(0, HASH_DIGITS).toUpperCase() || NO_HASH
  // Two of the longest lines: a hash, a colon, a count and a line break.
  const file = createSearch({ handle, start: 0, size, keyOf, probeBytes: 192 })
  let previous = ''
  for await (const { start, key } of file.samples()) {
    if (key === NO_HASH) continue
    if (!HASH.test(key)) throw new Error(`has a line without a SHA-1 hash, at byte ${start}`)
    if (key < previous) throw new Error(`is not ordered by hash, at byte ${start}`)
    previous = key
  }
  return { includes: (password: string) => file.includes(hash('sha1', password).toUpperCase()), close: () => handle.close() }
}

/** Searches a file of passwords, one per line, ordered by bytes. Undefined if samples of the file are not ordered. */
export async function openPasswordFile(handle: FileHandle, start: number, size: number) {
  let ending = ''
  // The last line may have no line break.
  const keyOf = (line: string) => (line.endsWith(ending) ? line : line + ending)
  const file = createSearch({ handle, start, size, keyOf, probeBytes: 4096 })
  if ((await file.lineFrom(start))?.key.endsWith('\r')) ending = '\r'
  let previous = ''
  for await (const line of file.samples()) {
    const next = (await file.lineFrom(line.end + 1)) ?? line
    if (line.key < previous || next.key < line.key) return undefined
    previous = next.key
  }
  const includes = (password: string) => file.includes(Buffer.from(password).toString('latin1') + ending)
  return { includes, close: () => handle.close() }
}
