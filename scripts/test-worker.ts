// Runs one test file after the other, until each file of the run is taken.
import { closeSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { suite } from 'node:test'
import { pathToFileURL } from 'node:url'
import { codeOf } from '../src/shared/errors.ts'
import { finishRun } from '../test/support/end-of-run.ts'

const { TEST_FILES: files = '', TEST_CLAIMS: claims = '' } = process.env
const LIMIT_MS = 900_000

let running: string | undefined
process.on('exit', () => {
  if (running === undefined) return
  process.stderr.write(`the process of the tests ended in ${running}\n`)
  process.exitCode = 1
})
for (const [index, file] of files.split('\n').entries()) {
  if (!isFirst(join(claims, String(index)))) continue
  running = file
  const url = pathToFileURL(resolve(file)).href
  await suite(file, { timeout: LIMIT_MS }, () => import(url))
}
running = undefined
await finishRun()

/** Creates a file that no other worker has created. */
function isFirst(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx'))
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}
