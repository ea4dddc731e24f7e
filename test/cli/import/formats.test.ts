import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readRecords } from '../../../src/cli/import/read-file.ts'
import { type FileRecord, NotThatFile } from '../../../src/cli/import/records.ts'
import { createSource } from '../../../src/cli/import/sources/sources.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'

const BYTE_ORDER_MARK = '\ufeff'
const USERS = [
  { email: 'ada@example.com', username: 'ada', note: 'one, "two"' },
  { email: 'bob@example.com', username: 'bob', note: 'Zoë 🗝' },
]
const HUGE = 'x'.repeat(1_000_001)

type From = 'keycloak' | 'csv'

/** The same users as JSON lines, as a list, as a list in an object, and as CSV. */
const FORMATS: Readonly<Record<string, readonly [from: From, (users: readonly object[]) => string]>> = {
  'JSON lines': ['keycloak', (users) => users.map((user) => `${JSON.stringify(user)}\n`).join('')],
  'a list': ['keycloak', (users) => `${JSON.stringify(users, null, 2)}\n`],
  'a list in an object': ['keycloak', (users) => `${JSON.stringify({ realm: 'shop', users }, null, 2)}\n`],
  CSV: ['csv', (users) => ['email,username,note', ...users.map(csvRow)].map((line) => `${line}\n`).join('')],
}

function csvRow(user: object): string {
  return Object.values(user)
    .map((text) => `"${String(text).replaceAll('"', '""')}"`)
    .join(',')
}

async function readAll(t: TestContext, from: From, content: string | Buffer): Promise<FileRecord[]> {
  const file = join(temporaryFolder(t), 'users')
  writeFileSync(file, content)
  const records: FileRecord[] = []
  for await (const page of readRecords(file, createSource(from, undefined))) records.push(...page)
  return records
}

const valuesOf = (records: readonly FileRecord[]) => records.map((record) => ('value' in record ? record.value : record.problem))

for (const [name, [from, write]] of Object.entries(FORMATS)) {
  test(`a byte order mark, CRLF and empty lines at the end change nothing: ${name}`, async (t) => {
    const text = write(USERS)
    for (const content of [text, BYTE_ORDER_MARK + text, text.replaceAll('\n', '\r\n'), `${BYTE_ORDER_MARK}\r\n${text}\r\n\n`])
      assert.deepEqual(valuesOf(await readAll(t, from, content)), USERS, JSON.stringify(content.slice(0, 20)))
  })

  test(`a user of more than a million bytes is rejected, and those beside it are read: ${name}`, async (t) => {
    const [ada, bob] = USERS
    const records = await readAll(t, from, write([ada ?? {}, { email: 'eve@example.com', username: 'eve', note: HUGE }, bob ?? {}]))
    assert.deepEqual(valuesOf(records), [ada, 'is longer than 1000000 bytes', bob])
    // What the file of rejects keeps of it.
    assert.ok(records.every((record) => !('text' in record) || record.text.length <= 1000))
  })

  test(`bytes that are not UTF-8 are rejected with their user, and the others are read: ${name}`, async (t) => {
    const text = Buffer.from(write([...USERS, { email: 'eve@example.com', username: 'eve', note: '#' }]))
    text[text.lastIndexOf('#')] = 0xe9
    assert.deepEqual(valuesOf(await readAll(t, from, text)), [...USERS, 'is not valid UTF-8'])
  })
}

test('the names of the columns may have capitals and spaces around them, and an empty field is left out', async (t) => {
  const records = await readAll(t, 'csv', 'Email , FIRST_NAME\r\nada@example.com,\r\n')
  assert.deepEqual(valuesOf(records), [{ email: 'ada@example.com', first_name: null }])
})

test('a line of CSV counts where its record begins, also after line breaks between quotation marks', async (t) => {
  const records = await readAll(t, 'csv', 'email,first_name\nada@example.com,"A\nd\na"\nbob@example.com,Bob\ncem@example.com\n')
  assert.deepEqual(
    records.map(({ line }) => line),
    [2, 5, 6],
  )
})

const UNREADABLE: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
  'UTF-16, little-endian': [Buffer.from('\ufeffemail\n', 'utf16le'), /UTF-16; save it as UTF-8/],
  'UTF-16, big-endian': [Buffer.from('\ufeffemail\n', 'utf16le').swap16(), /UTF-16; save it as UTF-8/],
  gzip: [Buffer.from([0x1f, 0x8b, 8, 0]), /compressed; decompress it first/],
  zip: [Buffer.from([0x50, 0x4b, 3, 4, 20]), /compressed; decompress it first/],
}

for (const [name, [content, message]] of Object.entries(UNREADABLE))
  test(`a file that is recognised by its first bytes is refused with the reason: ${name}`, async (t) => {
    const isRefused = (error: unknown) => error instanceof NotThatFile && message.test(error.message)
    await assert.rejects(readAll(t, 'csv', content), isRefused)
  })

test('a folder in place of a file is refused: the file is read twice', (t) => {
  const folder = join(temporaryFolder(t), 'folder')
  mkdirSync(folder)
  assert.throws(() => readRecords(folder, createSource('csv', undefined)), /not a regular file/)
})

test('a file that ends in the middle of a list or between quotation marks is refused as a whole', async (t) => {
  for (const end of [1, 2, 10, 40]) {
    const list = JSON.stringify(USERS)
    await assert.rejects(readAll(t, 'keycloak', list.slice(0, -end)), /it ends in the middle/, `${end}`)
    await assert.rejects(readAll(t, 'keycloak', `{"users": ${list}`.slice(0, -end)), /it ends in the middle/, `${end}`)
  }
  await assert.rejects(readAll(t, 'csv', 'email,first_name\nada@example.com,"Ada'), /it ends inside of quotation marks/)
})
