import assert from 'node:assert/strict'
import { test } from 'node:test'
import { overwriting } from '../../../src/cli/terminal/output.ts'
import { createProgress } from '../../../src/cli/terminal/progress.ts'

function terminal(isTTY: boolean) {
  let now = 0
  const written: string[] = []
  const output = { isTTY, redraw: (text: string) => written.push(overwriting(text)) }
  const progress = createProgress('copying', { output, now: () => now })
  return { progress, written, advance: (ms: number) => (now += ms) }
}

test('a bar appears when work has taken half a second, ten times a second at most, and goes without a trace', () => {
  const { progress, written, advance } = terminal(true)
  advance(499)
  progress.update(1, 4)
  progress.clear()
  assert.deepEqual(written, [])
  advance(1)
  progress.update(1, 4)
  progress.update(2, 4)
  assert.deepEqual(written, ['\r\u001b[Kcopying [########......................] 25 %  1 of 4'])
  advance(100)
  progress.update(4, 4)
  progress.clear()
  progress.clear()
  assert.deepEqual(written.slice(1), ['\r\u001b[Kcopying [##############################] 100 %  4 of 4', '\r\u001b[K'])
})

test('a script sees no bar', () => {
  const { progress, written, advance } = terminal(false)
  advance(10_000)
  progress.update(1, 4)
  progress.clear()
  assert.deepEqual(written, [])
})
