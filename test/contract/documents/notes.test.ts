import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { member } from '../../support/app/actors.ts'
import { startListening } from '../../support/client/listening.ts'
import { productFolder } from '../../support/client/product-folder.ts'
import { ROOT } from '../../support/documents.ts'
import { statusBeforeBody, statusOfLargeBody } from '../../support/http/large-bodies.ts'

// Less than the body. What is discarded is garbage for a while.
const MAX_GROWTH_KB = 128 * 1024

/** Serves the example, and reports its URL and, on request, the most memory that it has used. */
const SERVE = `import { createProduct } from './notes/server.ts'
const server = createProduct(process.argv[2]).listen(0, '127.0.0.1', () => process.send('http://127.0.0.1:' + server.address().port))
process.on('message', () => process.send(process.resourceUsage().maxRSS))
`

async function startProduct(t: TestContext, latchkeyUrl: string) {
  const folder = productFolder(t)
  cpSync(join(ROOT, 'examples/notes'), join(folder, 'notes'), { recursive: true, filter: (path) => !path.includes('node_modules') })
  writeFileSync(join(folder, 'serve.mjs'), SERVE)
  const child = fork(join(folder, 'serve.mjs'), [latchkeyUrl], { cwd: folder, env: {}, execArgv: [] })
  t.after(() => child.kill('SIGKILL'))
  const [url] = (await once(child, 'message')) as [string]
  const peakKb = async () => {
    child.send('how much')
    const [peak] = (await once(child, 'message')) as [number]
    return peak
  }
  return { notes: `${url}/api/notes`, peakKb }
}

test('413: the notes example refuses a large body and one without a length, without reading it into memory', async (t) => {
  const service = await startListening(t)
  const mia = await member(service)
  const { notes, peakKb } = await startProduct(t, service.url)
  const write = (text: string) => fetch(notes, { method: 'POST', headers: mia.headers, body: JSON.stringify({ text }) })
  // Every character of the longest note needs six bytes.
  assert.equal((await write('\u0001'.repeat(1000))).status, 201)
  const before = await peakKb()

  const status = await statusOfLargeBody(notes, mia.headers)
  const growth = (await peakKb()) - before
  assert.ok(growth < MAX_GROWTH_KB, `the body took ${growth} KB`)
  assert.equal(status, 413)
  assert.equal(await statusBeforeBody(notes, undefined, mia.headers), 413)
  assert.equal(await statusBeforeBody(notes, 'endless', mia.headers), 413)

  const refused = await write('x'.repeat(100_000))
  assert.deepEqual([refused.status, await refused.json()], [413, { detail: 'The note is too large' }])
  assert.equal(((await (await fetch(notes, { headers: mia.headers })).json()) as object[]).length, 1)
})
