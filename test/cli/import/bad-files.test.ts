import assert from 'node:assert/strict'
import { linkSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { checkRecord } from '../../../src/cli/import/check-file.ts'
import { readRecords } from '../../../src/cli/import/read-file.ts'
import { type FileRecord, NotThatFile } from '../../../src/cli/import/records.ts'
import { SOURCE_NAMES } from '../../../src/cli/import/sources/source-names.ts'
import { createSource } from '../../../src/cli/import/sources/sources.ts'
import { createUnreadFields } from '../../../src/cli/import/unread-fields.ts'
import { statement } from '../../../src/storage/database.ts'
import { anyText } from '../../support/any-text.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { commandLine, refusedWith } from '../../support/processes/command-line.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const CHECK = { withoutPasswords: false }

/** Files that are not what they claim to be, with the reason that is reported. */
const WRONG_FILES: readonly [from: string, content: string | Buffer, reason: string][] = [
  ['latchkey', '', 'it is empty'],
  ['latchkey', ' \n\n', 'it is empty'],
  ['latchkey', 'email,first_name\nada@example.com,Ada\n', 'it is not JSON'],
  ['latchkey', gzipSync('{"email":"ada@example.com"}'), 'it is compressed; decompress it first'],
  ['csv', Buffer.from('\ufeffemail\nada@example.com\n', 'utf16le'), 'it is encoded in UTF-16; save it as UTF-8'],
  ['latchkey', Buffer.alloc(100), 'it is not JSON'],
  ['latchkey', '[{"email": "ada@example.com"}]\n[{"email": "bob@example.com"}]', 'line 2 has text after the end of the JSON'],
  ['keycloak', '{"users": [{"username": "ada"}], "users": [{"username": "bob"}]}', 'it contains the list users twice'],
  [
    'csv',
    'email\nada@example.com\n"bob@example.com\n',
    'it ends inside of quotation marks, in the record that begins on line 3; is it complete?',
  ],
  ['latchkey', '{"localId":"x"}\n', 'line 1 has no email, which every user of Latchkey has'],
  ['latchkey', '[]', 'it contains no users'],
  ['firebase', '{"users": [{"localId": "1", "email": "ada@example.com"}, {"localId": "2"', 'it ends in the middle; is it complete?'],
  ['firebase', '{\n"accounts": []\n}', 'it contains no list with the name users'],
  ['firebase', '{"users": [{"username": "ada", "email": "ada@example.com"}]}', 'line 1 has no localId, which every user of Firebase has'],
  ['keycloak', '{"users": [{"localId": "1"}]}', 'line 1 has no username, which every user of Keycloak has'],
  ['django', '[{"model": "auth.group", "pk": 1, "fields": {"name": "staff"}}]', 'it contains no users'],
  ['supabase', 'id,mail\n1,ada@example.com\n', 'line 1 should name the columns, with email, encrypted_password among them'],
  ['csv', 'email,email\na@example.com,b@example.com\n', 'line 1 names a column twice'],
  ['csv', 'email,,\na@example.com,b,c\n', 'line 1 has 2 columns without a name'],
  [
    'fastapi-template',
    'email,full_name\nada@example.com,Ada\n',
    'line 2 has no password or hashed_password, which every user of FastAPI template has',
  ],
  [
    'auth0',
    '{"email": "ada@example.com", "first_name": "Ada"}\n',
    'line 1 has no user_id, _id or email_verified, which every user of Auth0 has',
  ],
]

test('a file that is not what it claims to be gets one line, exit code 1, and nothing is imported', async (t) => {
  const line = await commandLine(t)
  const titles: Readonly<Record<string, string>> = {
    latchkey: 'Latchkey',
    firebase: 'Firebase',
    keycloak: 'Keycloak',
    django: 'Django',
    supabase: 'Supabase',
    csv: 'CSV',
    'fastapi-template': 'FastAPI template',
    auth0: 'Auth0',
  }
  const file = join(temporaryFolder(t), 'users')
  for (const [from, content, reason] of t.database === 'sqlite' ? WRONG_FILES : WRONG_FILES.slice(5, 8)) {
    writeFileSync(file, content)
    const message = `${file} is not an export of ${titles[from]}: ${reason}; nothing was imported`
    refusedWith(await line.run(['user', 'import', file, '--from', from]), 1, message)
  }
  refusedWith(
    await line.run(['user', 'import', `${file}-missing`, '--from', 'csv']),
    1,
    `${file}-missing is not an export of CSV: it does not exist; nothing was imported`,
  )
  assert.equal((await (await line.database()).first(COUNT))?.count, 0)
})

test('hostile lines are rejected with their number and the reason, and the others are imported', async (t) => {
  const line = await commandLine(t)
  const file = join(temporaryFolder(t), 'users.jsonl')
  const lines: (string | Buffer)[] = [
    '{"email": "ada@example.com"}',
    `{"email": "long@example.com", "first_name": "${'x'.repeat(1_000_001)}"}`,
    Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
    '["email", "ada@example.com"]',
    '{"email": ["ada@example.com"]}',
    '{"email": "nul\\u0000@example.com"}',
    '{"email": "cem@example.com", "first_name": "a\\u0000b"}',
    '{"email": "dan@example.com", "verified": "perhaps"}',
    '{"email": "eve@example.com", "role": "root"}',
    '{"email": "fay@example.com", "id": 1.5}',
    '{"email": "gus@example.com", "created_at": "yesterday"}',
    '{"email": "hal@example.com", "keys": {"0": "x"}}',
    '{"email": "ida@example.com", "keys": [{"key_hash": "short"}]}',
    '{"email": "jon@example.com", "password": "short"}',
    '{"email": "kim@example.com", "password": "long enough", "password_hash": "x"}',
    '{"__proto__": {"email": "lea@example.com"}}',
    '{"email": "max@example.com", "constructor": {"prototype": {"role": "admin"}}, "__proto__": {"role": "admin"}}',
    '{"email": "nia@example.com", "first_name": "\\ud800"}',
    '',
    'null',
    '{"email": "zoe@example.com"',
  ]
  writeFileSync(file, Buffer.concat(lines.flatMap((text) => [Buffer.from(text), Buffer.from('\n')])))
  const { code, stdout, stderr } = await line.run(['user', 'import', file, '--from', 'latchkey'])
  assert.deepEqual(stderr.split('\n'), [
    'not imported: "keys.0" (1 user)',
    'not imported: "constructor" (1 user)',
    'not imported: "__proto__" (1 user)',
    'latchkey: line 2: is longer than 1000000 bytes',
    'latchkey: line 3: is not valid UTF-8',
    'latchkey: line 4: is not a JSON object',
    'latchkey: line 5: email: should be text',
    'latchkey: line 6: email: should be an e-mail address',
    'latchkey: line 7: first_name: should be 1 to 100 characters without control characters',
    'latchkey: line 8: verified: should be true or false',
    'latchkey: line 9: role: should be user or admin',
    'latchkey: line 10: id: should be a whole number above 0',
    'latchkey: line 11: created_at: should be a date with time and offset, such as 2026-01-31T09:30:00Z',
    'latchkey: line 12: keys: should be a list',
    'latchkey: line 13: keys[0].key_hash: should be 64 hexadecimal digits',
    'latchkey: line 14: password: should be 8 to 256 characters',
    'latchkey: line 15: password, password_hash: only one of them may be given',
    'latchkey: line 16: has no email, which every user of Latchkey has',
    'latchkey: line 18: first_name: should be 1 to 100 characters without control characters',
    'latchkey: line 20: is not a JSON object',
    'latchkey: line 21: is not valid JSON',
    '',
  ])
  assert.deepEqual([code, stdout], [1, 'read 20 = created 2 + updated 0 + skipped 0 + rejected 18\n'])
  const listed = await line.run(['user', 'show', 'max@example.com', '--json'])
  assert.equal((JSON.parse(listed.stdout) as { role: string }).role, 'user')
})

async function readAll(file: string, from: (typeof SOURCE_NAMES)[number]): Promise<FileRecord[]> {
  const records: FileRecord[] = []
  for await (const page of readRecords(file, createSource(from, undefined))) records.push(...page)
  return records
}

nodeTest('any bytes are read by every source without an error other than the one that names the file', async (t) => {
  const file = join(temporaryFolder(t), 'bytes')
  const text = fc.oneof(fc.json(), anyText(), fc.constantFrom('[', '{', '"users":[', 'email,', '"', '\\', '\n', '{"email":"a@b.co"}'))
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.array(text, { maxLength: 8 }).map((parts) => Buffer.from(parts.join(''))),
  )
  await fc.assert(
    fc.asyncProperty(content, fc.constantFrom(...SOURCE_NAMES), async (bytes, from) => {
      writeFileSync(file, bytes)
      const source = createSource(from, undefined)
      try {
        for (const record of await readAll(file, from)) {
          assert.ok(record.line >= 1 && record.line <= bytes.toString('latin1').split('\n').length)
          checkRecord(record, source, CHECK)
        }
      } catch (error) {
        if (!(error instanceof NotThatFile)) throw error
      }
    }),
    { numRuns: 500 },
  )
})

nodeTest('any JSON object is a user, a rejection with a reason, or nothing that counts, for every source', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('__proto__', 'constructor', '\u0000', '$2b$10$x', 'a@b.co', { $oid: 'x' }, [{ type: 'password' }]),
  )
  const names = [
    'email',
    'id',
    'localId',
    'username',
    'model',
    'fields',
    'password',
    'password_hash',
    'passwordHash',
    'salt',
    'credentials',
    'emailVerified',
    'user_id',
    'keys',
    'identifiers',
    'custom_password_hash',
    'hashed_password',
    'encrypted_password',
    'raw_user_meta_data',
    '__proto__',
    'created_at',
    'createdAt',
  ]
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), fc.constantFrom(...SOURCE_NAMES), (object, from) => {
      const source = createSource(from, undefined)
      createUnreadFields().count(object, source.fieldsOf(object))
      const checked = checkRecord({ line: 1, value: object }, source, CHECK)
      if (checked !== undefined && 'reason' in checked) assert.match(checked.reason, /^[\x20-\x7e·]+$/)
    }),
    { numRuns: 2000 },
  )
})

nodeTest('users are read from JSON lines, a list, a wrapped list and CSV alike, whatever the chunks and the texts in them', async (t) => {
  const file = join(temporaryFolder(t), 'users')
  const user = fc.record({
    email: fc.emailAddress(),
    username: fc.string({ unit: 'grapheme', maxLength: 20 }),
    padding: fc.constantFrom('', 'x'.repeat(70_000)),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(user, { minLength: 1, maxLength: 5 }), fc.constantFrom(0, 1, 2), async (given, indent) => {
      const users = given.map((one) => ({ ...one }))
      const values = async (from: 'keycloak' | 'csv') =>
        (await readAll(file, from)).map((record) => ('value' in record ? record.value : record))
      writeFileSync(file, users.map((one) => `${JSON.stringify(one)}\r\n`).join(''))
      assert.deepEqual(await values('keycloak'), users)
      writeFileSync(file, JSON.stringify(users, null, indent))
      assert.deepEqual(await values('keycloak'), users)
      writeFileSync(file, JSON.stringify({ a: '"users":[', b: [{ users: [1] }], users, c: { users: [{}] } }, null, indent))
      assert.deepEqual(await values('keycloak'), users)
      const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
      writeFileSync(file, ['email,username,padding', ...users.map((one) => Object.values(one).map(cell).join(','))].join('\n'))
      assert.deepEqual(
        await values('csv'),
        users.map((one) => ({ email: one.email, username: one.username || null, padding: one.padding || null })),
      )
    }),
    { numRuns: 60 },
  )
})

test('every element of a list and every row of a CSV file counts, whatever it is', async (t) => {
  const line = await commandLine(t)
  const file = join(temporaryFolder(t), 'users.json')
  const rejects = `${file}.rejects`
  writeFileSync(rejects, '', { mode: 0o644 })
  const deep = `{"email": "nobody", "x": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  writeFileSync(file, `[{"email": "ada@example.com"}, 7, "x,y]", null,\n[{"email": "eve@example.com"}], {"a": 1} {"b": 2},\n${deep}]`)
  const reported = (...lines: string[]) => lines.map((text) => `latchkey: line ${text}\n`).join('')
  const listed = await line.run(['user', 'import', file, '--from', 'latchkey', '--rejects', rejects])
  assert.deepEqual(listed, {
    code: 1,
    signal: null,
    stdout: 'read 7 = created 1 + updated 0 + skipped 0 + rejected 6\n',
    stderr: `not imported: "x" (1 user)\n${reported(
      '1: is not a JSON object',
      '1: is not a JSON object',
      '1: is not a JSON object',
      '2: is not a JSON object',
      '2: is not valid JSON',
      '3: email: should be an e-mail address',
    )}`,
  })
  assert.deepEqual([statSync(rejects).mode & 0o777, readFileSync(rejects, 'utf8').trim().split('\n').length], [0o600, 6])
  const alias = `${file}.alias`
  linkSync(file, alias)
  refusedWith(
    await line.run(['user', 'import', file, '--from', 'latchkey', '--rejects', alias]),
    1,
    `--rejects: ${file} is the file that is imported; choose another one`,
  )
  const rows = [
    'bob@example.com',
    'cem@example.com,Cem,C',
    '"d"an@example.com,Dan',
    'fay@example.com,"Fay\0"',
    'gus@example.com,"G ""Gus"""',
  ]
  writeFileSync(file, ['email,first_name', ...rows, ''].join('\n'))
  const ragged = await line.run(['user', 'import', file, '--from', 'csv'])
  assert.deepEqual(ragged, {
    code: 1,
    signal: null,
    stdout: 'read 5 = created 1 + updated 0 + skipped 0 + rejected 4\n',
    stderr: reported(
      '2: has 1 column instead of 2',
      '3: has 3 columns instead of 2',
      '4: has a quotation mark in the wrong place',
      '5: first_name: should be 1 to 100 characters without control characters',
    ),
  })
})
