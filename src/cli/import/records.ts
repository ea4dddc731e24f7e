import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { isObject, type JsonObject } from '../../model/entity.ts'

/** One user of a file, or text in its place that is not one. Lines count from 1. */
export type FileRecord = { readonly line: number } & ({ readonly value: JsonObject } | Unreadable)

type Unreadable = {
  readonly problem: string
  /** The beginning of the text, for the file of rejects. */
  readonly text: string
}

/** The file is not what it claims to be. Nothing was imported from it. */
export class NotThatFile extends Error {
  override readonly name = 'NotThatFile'
}

/** A user may have 1,000 API keys of about 300 bytes each. */
export const MAX_RECORD_BYTES = 1_000_000
const KEPT_LENGTH = 1000
const CHUNK_BYTES = 64 * 1024
const BYTE_ORDER_MARK = '\ufeff'

/** The text of a record. Undefined if it is empty. */
export function readText(line: number, bytes: Buffer): string | undefined | FileRecord {
  if (!isUtf8(bytes)) return unreadable(line, 'is not valid UTF-8', bytes)
  const text = bytes.toString('utf8')
  const plain = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  return plain.trim() === '' ? undefined : plain
}

/** Reads a JSON object. Undefined if the text is empty. */
export function readJson(line: number, bytes: Buffer): FileRecord | undefined {
  const text = readText(line, bytes)
  if (typeof text !== 'string') return text
  const value = parseJson(text)
  if (value === undefined) return unreadable(line, 'is not valid JSON', bytes)
  return isObject(value) ? { line, value } : unreadable(line, 'is not a JSON object', bytes)
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

export function readChunks(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: CHUNK_BYTES })
}

/** Reads the bytes of a record that begins on this line. Undefined if they are empty. */
export type ReadRecord = (line: number, bytes: Buffer) => FileRecord | undefined

/** Puts together a record whose bytes are in several chunks of the file. Keeps no more of them than a record may have. */
export function createRecordBuffer(read: ReadRecord) {
  let held: Buffer[] = []
  let heldBytes = 0
  return {
    /** Keeps the bytes of a record whose end is in a later chunk. */
    hold(bytes: Buffer): void {
      if (heldBytes <= MAX_RECORD_BYTES) held.push(Buffer.from(bytes))
      heldBytes += bytes.length
    },
    /** Reads a record that ends with these bytes. */
    complete(line: number, last: Buffer): FileRecord | undefined {
      const [beginning = last] = held
      const isTooLong = heldBytes + last.length > MAX_RECORD_BYTES
      const bytes = held.length === 0 || isTooLong ? last : Buffer.concat([...held, last])
      held = []
      heldBytes = 0
      return isTooLong ? unreadable(line, `is longer than ${MAX_RECORD_BYTES} bytes`, beginning) : read(line, bytes)
    },
  }
}

export function unreadable(line: number, problem: string, bytes: Buffer): FileRecord {
  return { line, problem, text: bytes.toString('utf8', 0, KEPT_LENGTH) }
}
