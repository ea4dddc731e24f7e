import { hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

const HASH_DIGITS = 40
// The longest line: a hash, a colon, a count and a line break. A read of this many bytes contains the beginning of a line, and its hash.
const PROBE_BYTES = 192
const BLOCK_BYTES = 4096
const SAMPLES = 64
const LINE_BREAK = 10
const HASH = /^[0-9A-F]{40}$/

export type HashFile = { includes(password: string): Promise<boolean>; close(): Promise<void> }

type Line = { readonly start: number; readonly hash: string }

/**
 * Searches a file of SHA-1 hashes in ascending order, one per line, as the Pwned Passwords downloader writes it. Nothing is kept in memory:
 * a search is a binary search of small reads outside of the event loop, about 23 of them in a file of 40 GB.
 */
export async function openHashFile(handle: FileHandle, size: number): Promise<HashFile> {
  /** The first line that starts at an offset or later, if there is one within a probe. */
  async function lineFrom(offset: number): Promise<Line | undefined> {
    // The byte before the offset says whether a line starts there.
    const from = Math.max(offset - 1, 0)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, from)
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
    const length = high - from + PROBE_BYTES
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from)
    const lines = buffer.toString('latin1', 0, bytesRead).split('\n')
    return lines.some((line) => line.slice(0, HASH_DIGITS).toUpperCase() === wanted)
  }

  await requireOrder()
  return { includes, close: () => handle.close() }
}
