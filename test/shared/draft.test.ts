import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs, { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { createDraft, isTaken } from '../../src/shared/files.ts'
import { temporaryFolder } from '../support/databases/databases.ts'

function write(file: string, text: string, mayReplace: boolean): void {
  using draft = createDraft(file)
  assert.equal(lstatSync(draft.path).mode & 0o777, 0o600)
  writeFileSync(draft.descriptor, text)
  draft.place({ mayReplace })
}

test('a file appears as a whole, for its owner only, and replaces another only if it may', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'users.jsonl')
  write(file, 'first', false)
  assert.equal(readFileSync(file, 'utf8'), 'first')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.throws(() => write(file, 'second', false), { code: 'EEXIST' })
  assert.equal(readFileSync(file, 'utf8'), 'first')
  write(file, 'third', true)
  assert.equal(readFileSync(file, 'utf8'), 'third')
  assert.deepEqual(readdirSync(folder), ['users.jsonl'], 'no draft is left')
})

test('a draft that is not put in its place leaves nothing', (t) => {
  const folder = temporaryFolder(t)
  const abandon = () => {
    using draft = createDraft(join(folder, 'users.jsonl'))
    writeFileSync(draft.descriptor, 'secret')
    throw new Error('stopped')
  }
  assert.throws(abandon, { message: 'stopped' })
  assert.deepEqual(readdirSync(folder), [])
})

test('a symbolic link at the place counts as taken, and is replaced but never followed', (t) => {
  const folder = temporaryFolder(t)
  const [file, victim, nowhere] = [join(folder, 'users.jsonl'), join(folder, 'victim'), join(folder, 'nowhere')]
  writeFileSync(victim, 'precious')
  for (const target of [victim, nowhere]) {
    symlinkSync(target, file)
    assert.equal(isTaken(file), true)
    assert.throws(() => write(file, 'text', false), { code: 'EEXIST' })
    write(file, 'text', true)
    assert.deepEqual([lstatSync(file).isFile(), readFileSync(file, 'utf8')], [true, 'text'])
    fs.rmSync(file)
  }
  assert.deepEqual([readFileSync(victim, 'utf8'), isTaken(nowhere)], ['precious', false])
})

test('a folder, a pipe and a device are refused before anything is written', (t) => {
  const folder = temporaryFolder(t)
  const [directory, pipe, link] = [join(folder, 'directory'), join(folder, 'pipe'), join(folder, 'link')]
  mkdirSync(directory)
  execFileSync('mkfifo', [pipe])
  symlinkSync('/dev/null', link)
  for (const file of [directory, pipe, link]) assert.throws(() => createDraft(file), { message: 'it is not a regular file' })
  assert.deepEqual(readdirSync(folder).sort(), ['directory', 'link', 'pipe'])
})

test('a file system without hard links works too, and no file is replaced on it', (t) => {
  const file = join(temporaryFolder(t), 'users.jsonl')
  const noLinks = mock.method(fs, 'linkSync', () => {
    throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
  })
  syncBuiltinESMExports()
  t.after(() => {
    noLinks.mock.restore()
    syncBuiltinESMExports()
  })
  write(file, 'first', false)
  assert.throws(() => write(file, 'second', false), { code: 'EEXIST' })
  assert.equal(readFileSync(file, 'utf8'), 'first')
  assert.equal(noLinks.mock.callCount(), 2)
})
