import { constants, statSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { FoundKey, LeakedKeys } from '../../domain/keys/leaked-keys.service.ts'
import { findApiKeys } from '../../security/api-key-secret.ts'
import { explainUnreadable } from '../../shared/errors.ts'
import { counted, nameText } from '../../shared/text.ts'
import { SomeFailed } from '../bulk.ts'
import { addCommand, FROM_INPUT } from '../terminal/input.ts'
import { type Format, JSON_OPTION, type JsonOption, printError, printList } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { OPERATOR, withServices } from '../with-services.ts'

type ScanOptions = JsonOption & { readonly revoke?: true }

/** A key in a file. The key itself is never printed. */
type Discovery = {
  readonly place: string
  readonly prefix: string
  readonly key: FoundKey | undefined
  readonly isRevoked: boolean
}

const PART_BYTES = 4 * 1024 * 1024
const KEY_CHARACTER = /[\w-]/
// Longer than any key.
const OVERLAP = 100
const SHOWN_PREFIX_LENGTH = 9
const INCOMPLETE = 2
// What was a file when its folder was read may have been replaced by a link or a pipe.
const FILE_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const UNREADABLE = { ENOENT: 'it disappeared', EACCES: 'it cannot be read by this user', ELOOP: 'it is a symbolic link' }

const DISCOVERY_FORMAT: Format<Discovery> = {
  columns: {
    FOUND: ({ place }) => place,
    PREFIX: ({ prefix }) => prefix,
    STATE: ({ key, isRevoked }) => [key?.state ?? 'unknown', ...(isRevoked ? ['now disabled'] : [])].join(', '),
    OWNER: ({ key }) => (key ? `user ${key.owner.id} (${key.owner.email})` : ''),
    'KEY ID': ({ key }) => key?.keyId ?? '',
  },
  json: ({ place, prefix, key, isRevoked }) => ({
    found: place,
    prefix,
    state: key?.state ?? 'unknown',
    revoked: isRevoked,
    user_id: key?.owner.id ?? null,
    email: key?.owner.email ?? null,
    key_id: key?.keyId ?? null,
  }),
}

export function scanCommand(parent: Command): void {
  const description =
    'find API keys in files and folders; exits with 1 if a key that works was found, or else with 2 if something could not be scanned'
  const paths = 'files and folders, or - to read standard input; symbolic links in folders are not followed'
  addCommand(parent, 'scan', description, { '<paths...>': paths })
    .option('--revoke', 'disable the keys that were found')
    .option(...JSON_OPTION)
    .action(scan)
}

async function scan(paths: readonly string[], options: ScanOptions): Promise<void> {
  const missing = paths.filter((path) => path !== FROM_INPUT && kindOf(path) === 'missing')
  if (missing.length > 0) throw new InvalidInput(missing.map((path) => `${path}: there is no such file or folder`))
  const skipped: string[] = []
  let liveCount = 0
  await withServices(async ({ leakedKeys }) => {
    const onSkip: OnSkip = (path, reason) => void skipped.push(`skipped ${nameText(path)}: ${reason}`)
    async function* discoveries(): AsyncIterable<readonly Discovery[]> {
      for await (const source of sources(paths, onSkip)) {
        const found = await inspect(leakedKeys, source, options)
        liveCount += found.filter(({ key }) => key?.state === 'live').length
        if (found.length > 0) yield found
      }
    }
    await printList(DISCOVERY_FORMAT, discoveries(), options)
  })
  for (const line of skipped) printError(line)
  if (liveCount > 0) printError(`found ${counted(liveCount, 'key')} that ${liveCount === 1 ? 'works' : 'work'}`)
  if (liveCount > 0 || skipped.length > 0) throw new SomeFailed(liveCount > 0 ? undefined : INCOMPLETE)
}

/** A part of a file, and the number of its first line. Every key is in one part as a whole. */
type Part = { readonly name: string; readonly firstLine: number; readonly text: string }
/** Called for each file and folder that is not scanned. A path is bytes, because the name of a file need not be UTF-8. */
type OnSkip = (path: Buffer, reason: string) => void

async function inspect(leakedKeys: LeakedKeys, { name, firstLine, text }: Part, { revoke }: ScanOptions): Promise<Discovery[]> {
  // Most files hold no key, and then their lines need not be looked at.
  if (findApiKeys(text).length === 0) return []
  const discoveries: Discovery[] = []
  for (const [index, line] of text.split('\n').entries()) {
    for (const token of findApiKeys(line)) {
      const place = `${name}:${firstLine + index}`
      const key = await leakedKeys.find(token)
      const isRevoked = revoke === true && key !== undefined && key.state !== 'disabled'
      if (isRevoked) await leakedKeys.report(OPERATOR.origin, [{ token, url: place }])
      discoveries.push({ place, prefix: token.slice(0, SHOWN_PREFIX_LENGTH), key, isRevoked })
    }
  }
  return discoveries
}

/** The texts to scan. Symbolic links are followed only if a path names them, so that a folder cannot lead out of itself. */
async function* sources(paths: readonly string[], onSkip: OnSkip): AsyncIterable<Part> {
  for (const path of paths) {
    if (path === FROM_INPUT) yield* partsIn(path, process.stdin.setEncoding('latin1'))
    else if (kindOf(path) === 'folder') yield* sourcesIn(Buffer.from(path), onSkip)
    else yield* readSource(Buffer.from(path), onSkip, constants.O_RDONLY)
  }
}

async function* sourcesIn(folder: Buffer, onSkip: OnSkip): AsyncIterable<Part> {
  const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' }).catch((error: unknown) => {
    onSkip(folder, explainUnreadable(error, UNREADABLE))
    return []
  })
  for (const entry of entries.sort((one, other) => Buffer.compare(one.name, other.name))) {
    const path = joined(folder, entry.name)
    if (entry.isDirectory()) yield* sourcesIn(path, onSkip)
    else if (entry.isFile()) yield* readSource(path, onSkip, FILE_ONLY)
    else if (!entry.isSymbolicLink()) onSkip(path, 'it is not a file')
  }
}

/** Joins paths byte by byte: latin1 has a character for every byte. */
function joined(folder: Buffer, name: Buffer): Buffer {
  return Buffer.from(join(folder.toString('latin1'), name.toString('latin1')), 'latin1')
}

async function* readSource(path: Buffer, onSkip: OnSkip, flags: number): AsyncIterable<Part> {
  try {
    await using file = await open(path, flags)
    if (flags === FILE_ONLY && !(await file.stat()).isFile()) return onSkip(path, 'it is not a file')
    yield* partsIn(nameText(path), file.createReadStream({ encoding: 'latin1', highWaterMark: PART_BYTES }))
  } catch (error) {
    onSkip(path, explainUnreadable(error, UNREADABLE))
  }
}

/** Splits a text between keys, so that a file of any size can be scanned. */
async function* partsIn(name: string, chunks: AsyncIterable<string>): AsyncIterable<Part> {
  let firstLine = 1
  let rest = ''
  for await (const chunk of chunks) {
    // Keys are ASCII. Without its NULs, UTF-16 reads like ASCII, and so do the texts in archives and programs.
    const text = rest + chunk.replaceAll('\0', '')
    const { end, next } = boundary(text)
    yield { name, firstLine, text: text.slice(0, end) }
    firstLine += text.slice(0, next).split('\n').length - 1
    rest = text.slice(next)
  }
  yield { name, firstLine, text: rest }
}

/** Where a part ends, and where the next one begins: after the last character that no key contains. */
function boundary(text: string): { readonly end: number; readonly next: number } {
  const earliest = text.length - 2 * OVERLAP
  for (let end = text.length; end > earliest; end--) if (!KEY_CHARACTER.test(text.charAt(end - 1))) return { end, next: end }
  // A run without such a character. The parts overlap, so that a key in the overlap may be found twice, but none is missed.
  return { end: text.length, next: text.length - OVERLAP }
}

/** What a path leads to. Where this cannot be read, opening it as a file says why. */
function kindOf(path: string): 'missing' | 'folder' | 'file' {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    return found.isDirectory() ? 'folder' : 'file'
  } catch {
    return 'file'
  }
}
