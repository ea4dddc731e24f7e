import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ROOT } from '../documents.ts'
import { freePort } from '../servers/free-port.ts'
import { untilPrinted } from './service-process.ts'

// It packs and installs the client first.
const START_MS = 180_000

/** Starts the example as its README says. */
export async function startExample(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  // The example chooses its port long before it listens. This one is not given to a connection of another program meanwhile.
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: String(await freePort()), ...settings }
  const child = spawn(process.execPath, [join(ROOT, 'examples/notes/start.ts')], { env })
  t.after(async () => {
    // Not killed, so that it stops Latchkey and removes its data.
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const example = { url: '', process: child, output: () => printed }
  const find = async (pattern: RegExp) => new RegExp(pattern).exec(await untilPrinted(example, pattern, START_MS))?.[1] ?? ''
  return { url: await find(/Notes +(http\S+)/), latchkeyUrl: await find(/Latchkey +(http\S+)\/docs/), find }
}
