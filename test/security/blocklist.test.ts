import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Blocklist, openBlocklist } from '../../src/security/blocklist.ts'
import { temporaryFolder } from '../support/databases/databases.ts'

const LINES = 60_000

function fileWith(t: TestContext, content: string | Uint8Array): string {
  const file = join(temporaryFolder(t), 'list.txt')
  writeFileSync(file, content)
  return file
}

async function opened(t: TestContext, setting: string): Promise<Blocklist> {
  const blocklist = (await openBlocklist(setting)) ?? assert.fail('there is no list')
  t.after(() => blocklist.close())
  return blocklist
}

function hashLines(passwords: readonly string[]): string[] {
  return passwords.map((password, place) => `${hash('sha1', password).toUpperCase()}:${(place * 7919) % 10_000_000}`).sort()
}

async function refusalOf(setting: string): Promise<string> {
  return openBlocklist(setting).then(
    () => 'accepted',
    (error: Error) => error.message,
  )
}

for (const [format, ending] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
] as const) {
  test(`every one of ${LINES} hashes in a file with ${format} is found, and no other password`, async (t) => {
    const passwords = Array.from({ length: LINES }, (_, place) => `password ${place}`)
    const lines = hashLines(passwords)
    const blocklist = await opened(t, fileWith(t, lines.join(ending) + ending))
    // The first and the last line, and a sample of the others.
    const first = passwords.find((password) => lines[0]?.startsWith(hash('sha1', password).toUpperCase()))
    const last = passwords.find((password) => lines[lines.length - 1]?.startsWith(hash('sha1', password).toUpperCase()))
    const sample = passwords.filter((_, place) => place % 97 === 0)
    for (const password of [first, last, ...sample]) assert.equal(await blocklist.includes(password ?? ''), true, String(password))
    for (let place = 0; place < 2000; place++) assert.equal(await blocklist.includes(`another ${place}`), false)
  })
}

test('small files of hashes are searched too: every line of files with 1 to 300 lines is found', async (t) => {
  for (const count of [1, 2, 3, 50, 90, 91, 92, 150, 300]) {
    const passwords = Array.from({ length: count }, (_, place) => `password ${place}`)
    // Without a line break at the end, and with hashes in lower case and without counts.
    const lines = hashLines(passwords).map((line) => line.slice(0, 40).toLowerCase())
    const blocklist = await opened(t, fileWith(t, lines.join('\n')))
    for (const password of passwords) assert.equal(await blocklist.includes(password), true, `${password} of ${count}`)
    assert.equal(await blocklist.includes('another password'), false)
  }
})

test('a file of passwords may have any order, line endings and a byte order mark', async (t) => {
  const blocklist = await opened(t, fileWith(t, '\uFEFFcorrect horse\r\nshort\r\n\r\nZürich 2026\n 8 spaces'))
  for (const password of ['correct horse', 'Zürich 2026', ' 8 spaces']) assert.equal(await blocklist.includes(password), true, password)
  for (const password of ['Correct horse', 'correct horse\r', 'short', '8 spaces']) {
    assert.equal(await blocklist.includes(password), false, password)
  }
})

for (const [format, mark, ending] of [
  ['LF', '', '\n'],
  ['CRLF and a byte order mark', '\uFEFF', '\r\n'],
] as const) {
  test(`an ordered file of passwords of any size, with ${format}, is searched on disk`, async (t) => {
    const passwords = Array.from({ length: LINES }, (_, place) => `${'x'.repeat(place % 600)} password ${place} ü`)
    // Longer than any password, and than a read.
    passwords.push('y'.repeat(20_000), 'zzzzzzzz')
    const lines = passwords.map((password) => Buffer.from(password + ending)).sort(Buffer.compare)
    const content = Buffer.concat([Buffer.from(mark), ...lines])
    assert.ok(content.length > 16_000_000)
    // The last line has no line break.
    const blocklist = await opened(t, fileWith(t, content.subarray(0, content.length - ending.length)))
    const ends = [lines[0], lines[1]].map((line) => String(line).trimEnd())
    const sample = passwords.filter((_, place) => place % 97 === 0)
    for (const password of [...ends, 'zzzzzzzz', ...sample]) assert.equal(await blocklist.includes(password), true, password)
    for (const password of ['', 'xxxxxxxx', 'zzzzzzzzz', 'yyyyyyyy', ' password 1', 'password 0 ü'])
      assert.equal(await blocklist.includes(password), false, password)
    for (let place = 0; place < 500; place++) assert.equal(await blocklist.includes(`another ${place}`), false)
  })
}

test('`common` is a list of common passwords, in any case', async (t) => {
  const blocklist = await opened(t, 'common')
  for (const password of ['password', 'Password123', '1234567890', 'qwertyuiop']) assert.equal(await blocklist.includes(password), true)
  assert.equal(await blocklist.includes('correct horse battery'), false)
})

test('a file that cannot be used is refused in one line that names the setting', async (t) => {
  const folder = join(temporaryFolder(t), 'folder')
  mkdirSync(folder)
  const lines = hashLines(Array.from({ length: 1000 }, (_, place) => `password ${place}`))
  const files: Record<string, string> = {
    [join(folder, 'missing')]: 'does not exist',
    [folder]: 'is a folder',
    [fileWith(t, lines.toReversed().join('\n'))]: 'is not ordered by hash',
    [fileWith(t, [...lines.slice(0, 500), ...Array<string>(500).fill('no hash at all')].join('\n'))]: 'has a line without a SHA-1 hash',
    [fileWith(t, `${'0123456789ABCDEF'.repeat(2)}:7\n`)]: 'has hashes that are not SHA-1',
    [fileWith(t, Buffer.from('utf-16 text', 'utf16le'))]: 'is not a text file',
    [fileWith(t, `\uFEFF${hashLines(['password 1', 'password 2']).join('\n')}`)]: 'has hashes after a byte order mark or an empty line',
    [fileWith(t, `\r\n\n${hashLines(['password 1', 'password 2']).join('\n')}`)]: 'has hashes after a byte order mark or an empty line',
    [fileWith(t, 'short\n')]: 'has no password of 8 characters or more',
    [fileWith(t, 'password\nanother password\n'.repeat(700_000))]: 'has 18 MB and is not ordered by bytes',
    [fileWith(t, '')]: 'has no password',
  }
  for (const [file, reason] of Object.entries(files)) {
    const message = await refusalOf(file)
    assert.ok(message.startsWith(`PASSWORD_BLOCKLIST: ${file} ${reason}`), message)
    assert.ok(!message.includes('\n'))
  }
})
