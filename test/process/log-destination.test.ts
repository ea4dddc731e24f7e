import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLogDestination } from '../../src/process/logger.ts'
import { temporaryFolder } from '../support/databases/databases.ts'

function open(t: TestContext, file: string): number {
  const fd = openSync(file, 'w')
  t.after(() => closeSync(fd))
  return fd
}

test('lines are written in order, and flushed() resolves after the last', async (t) => {
  const file = join(temporaryFolder(t), 'log')
  const log = createLogDestination(open(t, file))
  const lines = Array.from({ length: 1000 }, (_, number) => `line ${number}\n`)
  for (const line of lines) log.write(line)
  await log.flushed()
  assert.equal(readFileSync(file, 'utf8'), lines.join(''))
})

test('characters that control a terminal are escaped, and the JSON has the same values', async (t) => {
  const file = join(temporaryFolder(t), 'log')
  const log = createLogDestination(open(t, file))
  const entry = { userAgent: '\u001b[2J\u009b31m\u202e' }
  log.write(`${JSON.stringify(entry)}\n`)
  await log.flushed()
  const text = readFileSync(file, 'utf8')
  assert.equal(text, '{"userAgent":"\\u001b[2J\\u009b31m\\u202e"}\n')
  assert.deepEqual(JSON.parse(text), entry)
})

test('a full disk drops lines, and flushed() still resolves', {
  skip: process.platform !== 'linux' && '/dev/full is needed',
}, async (t) => {
  const log = createLogDestination(open(t, '/dev/full'))
  for (let count = 0; count < 10; count++) log.write('line\n')
  await log.flushed()
  await log.close()
})

test('beyond the limit new lines are dropped, so that memory does not grow', async (t) => {
  const file = join(temporaryFolder(t), 'log')
  const log = createLogDestination(open(t, file))
  const line = `${'x'.repeat(1023)}\n`
  for (let count = 0; count < 10_000; count++) log.write(line)
  await log.flushed()
  const { length } = readFileSync(file)
  assert.ok(length > 4_000_000 && length < 4_300_000, `${length} bytes were written`)
})
