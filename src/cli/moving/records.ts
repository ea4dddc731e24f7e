import { isUtf8 } from 'node:buffer'
import { isObject, type JsonObject } from '../../domain/moving/imported-user.ts'

/** One user of a file, or text in its place that is not one. Lines count from 1. */
export type FileRecord = { readonly line: number } & ({ readonly value: JsonObject } | Unreadable)

export type Unreadable = {
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
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { line, value } : unreadable(line, 'is not a JSON object', bytes)
  } catch {
    return unreadable(line, 'is not valid JSON', bytes)
  }
}

export function tooLong(line: number, start: Buffer): FileRecord {
  return unreadable(line, `is longer than ${MAX_RECORD_BYTES} bytes`, start)
}

export function unreadable(line: number, problem: string, bytes: Buffer): FileRecord {
  return { line, problem, text: bytes.toString('utf8', 0, KEPT_LENGTH) }
}
