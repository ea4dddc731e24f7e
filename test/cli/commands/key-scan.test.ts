import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import { generateApiKey } from '../../../src/security/api-key-secret.ts'
import { threeAccounts } from '../../support/app/accounts.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { type CommandLine, commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'

type Key = { readonly id: string; readonly key: string }
type Found = { readonly found: string; readonly prefix: string; readonly state: string; readonly revoked: boolean; readonly key_id: string }

async function newKey(line: CommandLine, name: string): Promise<Key> {
  return json(await line.run(['key', 'create', '2', '--name', name, '--json'])) as Key
}

test('key scan finds keys in files by their checksum, says whose they are, and never prints them', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const live = await newKey(line, 'live')
  const disabled = await newKey(line, 'disabled')
  await line.run(['key', 'disable', '2', disabled.id])
  const foreign = generateApiKey('acme')
  const mistyped = live.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))

  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'a'))
  writeFileSync(join(folder, 'a', '.env'), `# settings\r\nMY_KEY=${live.key}\r\nOLD=${mistyped}\n`)
  writeFileSync(join(folder, 'b.txt'), `x_${disabled.key}y ${foreign}`)
  writeFileSync(join(folder, 'c.bin'), Buffer.concat([Buffer.from([0, 1, 2]), Buffer.from(live.key)]))
  writeFileSync(join(folder, 'd.txt'), 'nothing here')
  symlinkSync('/', join(folder, 'everything'))

  const { code, stdout, stderr } = await line.run(['key', 'scan', folder])
  assert.deepEqual([code, stderr], [1, 'latchkey: found 2 keys that work\n'])
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/ {2,}/))
  assert.deepEqual(rows, [
    ['FOUND', 'PREFIX', 'STATE', 'OWNER', 'KEY ID'],
    [`${join(folder, 'a', '.env')}:2`, live.key.slice(0, 9), 'live', 'user 2 (Bob@example.com)', live.id],
    [`${join(folder, 'b.txt')}:1`, disabled.key.slice(0, 9), 'disabled', 'user 2 (Bob@example.com)', disabled.id],
    [`${join(folder, 'b.txt')}:1`, foreign.slice(0, 9), 'unknown'],
    [`${join(folder, 'c.bin')}:1`, live.key.slice(0, 9), 'live', 'user 2 (Bob@example.com)', live.id],
  ])
  for (const { key } of [live, disabled]) assert.ok(!stdout.includes(key))
})

test('key scan --revoke disables what it finds, and exits with 0 once nothing that works is left', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { id, key } = await newKey(line, 'live')
  const file = join(temporaryFolder(t), 'notes')
  writeFileSync(file, `${key}\n${key}\n`)
  const first = await line.run(['key', 'scan', file, '--revoke', '--json'])
  assert.equal(first.code, 1)
  const found = (JSON.parse(first.stdout) as Found[]).map(({ found, state, revoked, key_id }) => [found, state, revoked, key_id])
  assert.deepEqual(found, [
    [`${file}:1`, 'live', true, id],
    [`${file}:2`, 'disabled', false, id],
  ])
  const [listed] = json(await line.run(['key', 'list', '2', '--json'])) as { is_active: boolean }[]
  assert.equal(listed?.is_active, false)
  assert.equal((json(await line.run(['key', 'scan', file, '--json'])) as Found[]).length, 2)
})

test('key scan reads standard input, and reports a path that does not exist', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { key } = await newKey(line, 'live')
  const piped = await line.run(['key', 'scan', '-', '--json'], `line\n+ key: "${key}"\n`)
  assert.deepEqual([piped.code, (JSON.parse(piped.stdout) as Found[])[0]?.found], [1, '-:2'])
  done(await line.run(['key', 'scan', '-', '--json'], 'nothing'), '[]\n')
  refusedWith(await line.run(['key', 'scan', '/nowhere/at/all']), 1, '/nowhere/at/all: there is no such file or folder')
})

test('key scan finds keys in UTF-16, in files of any size, and across the parts in which it reads them', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { key } = await newKey(line, 'live')
  const folder = temporaryFolder(t)
  const [small, large, run] = [join(folder, 'utf16.env'), join(folder, 'large.log'), join(folder, 'run.txt')]
  writeFileSync(small, Buffer.from(`\ufeffA=1\r\nKEY=${key}\r\n`, 'utf16le'))
  const part = 4 * 1024 * 1024
  // Each key lies across the end of a part: 20 characters before it.
  const first = `${'some text\n'.repeat(part / 10).slice(0, part - 21)} ${key}\n`
  writeFileSync(large, `${first}${'\n'.repeat(part)}${' '.repeat(12 * part)}${key}`)
  writeFileSync(run, `${'x'.repeat(part - 20)}${key}${'x'.repeat(part)}`)
  const { code, stdout, stderr } = await line.run(['key', 'scan', small, large, run, '--json'])
  assert.deepEqual([code, stderr], [1, 'latchkey: found 4 keys that work\n'])
  const lineOfFirst = first.split('\n').length - 1
  assert.deepEqual(
    (JSON.parse(stdout) as Found[]).map(({ found }) => found),
    [`${small}:2`, `${large}:${lineOfFirst}`, `${large}:${lineOfFirst + 1 + part}`, `${run}:1`],
  )
})

test('key scan reads a file whose name is not UTF-8, and shows control characters of names escaped', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { key } = await newKey(line, 'live')
  const folder = temporaryFolder(t)
  const name = Buffer.concat([Buffer.from(`${folder}/\u001b[2J\n\u202eü`), Buffer.from([0xff])])
  writeFileSync(name, key)
  const place = `${folder}/\\x1b[2J\\x0a\\u202eü\\xff:1`
  const { code, stdout, stderr } = await line.run(['key', 'scan', folder])
  assert.deepEqual([code, stderr], [1, 'latchkey: found 1 key that works\n'])
  assert.equal(stdout.split('\n')[1]?.split(/ {2,}/)[0], place)
  const { stdout: printed } = await line.run(['key', 'scan', folder, '--json'])
  assert.equal((JSON.parse(printed) as Found[])[0]?.found, `${folder}/\u001b[2J\n\u202eü\\xff:1`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that control a terminal
  assert.doesNotMatch(printed, /[\u0000-\u0009\u000b-\u001f\u202e]/)
  const missing = '/nowhere/\u001b[31m'
  refusedWith(await line.run(['key', 'scan', missing]), 1, '/nowhere/\\x1b[31m: there is no such file or folder')
})

test('key scan names what it could not scan and exits with 2, or with 1 if a key that works was found', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { key } = await newKey(line, 'live')
  const folder = temporaryFolder(t)
  const pipe = join(folder, 'pipe\u001b[2J')
  execFileSync('mkfifo', [pipe])
  symlinkSync('/nowhere', join(folder, 'link'))
  const skipped = `latchkey: skipped ${folder}/pipe\\x1b[2J: it is not a file\n`
  const nothing = await line.run(['key', 'scan', folder, '--json'])
  assert.deepEqual(nothing, { code: 2, signal: null, stdout: '[]\n', stderr: skipped })
  writeFileSync(join(folder, 'notes'), key)
  const { code, stderr } = await line.run(['key', 'scan', folder])
  assert.deepEqual([code, stderr], [1, `${skipped}latchkey: found 1 key that works\n`])
})

plainTest('key scan names a file and a folder that this user may not read', async (t) => {
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
  if (spawnSync(process.execPath, [LATCHKEY, '--version'], { ...account, cwd: '/' }).status !== 0)
    return t.skip('NOT RUN: an account without privileges cannot run the command')
  const cwd = temporaryFolder(t)
  const folder = join(cwd, 'scanned')
  mkdirSync(folder)
  writeFileSync(join(folder, 'file'), 'nothing', { mode: 0 })
  mkdirSync(join(folder, 'folder'), { mode: 0 })
  for (const path of [cwd, folder]) chmodSync(path, 0o777)
  const reason = 'it cannot be read by this user'
  const scan = (path: string) => runNode(t, LATCHKEY, ['key', 'scan', path], { cwd, ...(account && { account }) })
  const walked = await scan(folder)
  const lines = ['file', 'folder'].map((name) => `latchkey: skipped ${join(folder, name)}: ${reason}\n`)
  assert.deepEqual([walked.code, walked.stderr], [2, lines.join('')])
  const behind = join(folder, 'folder', 'file')
  const named = await scan(behind)
  assert.deepEqual([named.code, named.stderr], [2, `latchkey: skipped ${behind}: ${reason}\n`])
})
