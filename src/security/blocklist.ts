import { hash } from 'node:crypto'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { explainUnreadable } from '../shared/errors.ts'
import { openHashFile, openPasswordFile } from './ordered-file.ts'

/** Passwords that nobody may choose. */
export type Blocklist = {
  includes(password: string): Promise<boolean>
  close(): Promise<void>
}

// Shorter passwords cannot be chosen at all.
const PASSWORD_MIN_LENGTH = 8
const COMMON = 'common'
const COMMON_PACKAGE = '@zxcvbn-ts/language-common'
const FIRST_BYTES = 4096
const SHA1_LINE = /^[0-9A-F]{40}(?::\d+)?$/i
const OTHER_HASH_LINE = /^[0-9A-F]{32,}:\d+$/i
const BYTE_ORDER_MARK = '\uFEFF'
// About two million passwords, of which 14 MB of memory remain.
const MAX_UNORDERED_BYTES = 16_000_000
const LINE_BREAK = 10
const HASH_BYTES = 6

/** Opens the list that PASSWORD_BLOCKLIST names: `common`, or a file. Throws an error that names the setting. */
export async function openBlocklist(setting: string | undefined): Promise<Blocklist | undefined> {
  if (setting === undefined) return undefined
  try {
    return setting === COMMON ? await openCommon() : await openFile(setting)
  } catch (error) {
    const reason = explainUnreadable(error, { MODULE_NOT_FOUND: `needs the package ${COMMON_PACKAGE}, which is not installed` })
    throw new Error(`PASSWORD_BLOCKLIST: ${setting} ${reason}`, { cause: error })
  }
}

/** Opens the list for one password. Without a password, it only shows whether the list can be used. */
export async function isListed(setting: string | undefined, password: string | undefined): Promise<boolean> {
  const blocklist = await openBlocklist(setting)
  try {
    return password !== undefined && (await blocklist?.includes(password)) === true
  } finally {
    await blocklist?.close()
  }
}

/** All entries are in lower case, so that a password in any case is compared with them. */
async function openCommon(): Promise<Blocklist> {
  const file = createRequire(import.meta.url).resolve(`${COMMON_PACKAGE}/src/passwords.json`)
  const words = JSON.parse(await readFile(file, 'utf8')) as string[]
  const listed = new Set(words.filter(({ length }) => length >= PASSWORD_MIN_LENGTH))
  return { includes: async (password) => listed.has(password.toLowerCase()), close: async () => undefined }
}

async function openFile(path: string): Promise<Blocklist> {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0)
    const start = buffer.subarray(0, bytesRead)
    if (start.includes(0)) throw new Error('is not a text file')
    const text = start.toString('utf8')
    // Lines before the hashes would make it a list of passwords, which contains nobody's password.
    const firstLine = text.replace(/^[\uFEFF\s]+/, '').split(/\r?\n/, 1)[0] ?? ''
    if (SHA1_LINE.test(firstLine) && !text.startsWith(firstLine))
      throw new Error('has hashes after a byte order mark or an empty line; the first line should be a hash')
    if (SHA1_LINE.test(firstLine)) return await openHashFile(handle, size)
    if (OTHER_HASH_LINE.test(firstLine)) throw new Error('has hashes that are not SHA-1, which have 40 digits')
    return await openPlainFile(handle, size, text.startsWith(BYTE_ORDER_MARK) ? Buffer.byteLength(BYTE_ORDER_MARK) : 0)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** A file that is ordered by bytes is searched on disk, however large it is. A small one may have any order. */
async function openPlainFile(handle: FileHandle, size: number, start: number): Promise<Blocklist> {
  if (size <= MAX_UNORDERED_BYTES) return loadPlainFile(handle, start)
  const file = await openPasswordFile(handle, start, size)
  if (file === undefined)
    throw new Error(
      `has ${Math.round(size / 1_000_000)} MB and is not ordered by bytes, as a list of more than ${MAX_UNORDERED_BYTES / 1_000_000} MB has to be; run \`LC_ALL=C sort -u\` on it (docs/settings.md)`,
    )
  return file
}

/** Reads a list of passwords in any order. Memory holds six bytes of the hash of each. */
async function loadPlainFile(handle: FileHandle, first: number): Promise<Blocklist> {
  const content = await handle.readFile()
  await handle.close()
  const listed = new Set<number>()
  for (let start = first; start < content.length; ) {
    const found = content.indexOf(LINE_BREAK, start)
    const end = found === -1 ? content.length : found
    const line = content.subarray(start, content[end - 1] === 13 ? end - 1 : end)
    if (line.length >= PASSWORD_MIN_LENGTH) listed.add(shortHash(line))
    start = end + 1
  }
  if (listed.size === 0) throw new Error(`has no password of ${PASSWORD_MIN_LENGTH} characters or more`)
  return { includes: async (password) => listed.has(shortHash(Buffer.from(password))), close: async () => undefined }
}

/** 48 bits: among two million entries, one of a hundred million other passwords is taken for one of them. */
function shortHash(bytes: Uint8Array): number {
  return hash('sha1', bytes, 'buffer').readUIntBE(0, HASH_BYTES)
}
