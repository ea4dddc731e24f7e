// Runs test files in a few processes, each of which takes the next file when it has finished one. A process per file would spend a fifth of
// its time on importing the service and creating a database.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const WORKER = fileURLToPath(new URL('test-worker.ts', import.meta.url))

const { values: options, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: {
    processes: { type: 'string', default: '3' },
    // Keeps what the tests write in memory, if there is enough.
    'in-memory': { type: 'boolean', default: false },
    // Checks types, format and lint meanwhile.
    check: { type: 'boolean', default: false },
  },
})
process.chdir(ROOT)
process.env['TEST_IN_MEMORY'] = String(options['in-memory'])
process.env['NODE_COMPILE_CACHE'] = join(ROOT, 'node_modules/.cache/tests')
// Imported late, because it reads the environment.
const { globalSetup, globalTeardown } = await import('../test/support/databases/postgres-server.ts')
const { newFolder } = await import('../test/support/databases/run-folder.ts')

// Large files first, so that the last ones are short, and the processes end at about the same time.
const files = globSync(patterns).toSorted((one, other) => statSync(other).size - statSync(one).size)
if (files.length === 0) throw new Error(`no file matches ${patterns.join(' ')}`)
Object.assign(process.env, { TEST_FILES: files.join('\n'), TEST_CLAIMS: newFolder('claims') })
const checking = options.check ? check() : undefined
await globalSetup()

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort())
const workers = Array.from({ length: Number(options.processes) }, () => WORKER)
const results = run({ files: workers, concurrency: workers.length, signal: interrupted.signal })
results.on('test:fail', fail)
await once(results.compose(spec).pipe(process.stdout, { end: false }), 'unpipe')
await globalTeardown()

const problems = await checking
if (problems !== undefined) {
  process.stdout.write(`\n✖ npm run check\n${problems}`)
  fail()
}

function fail(): void {
  process.exitCode = 1
}

/** Returns what is printed if the check fails, so that it does not disappear between the tests. */
async function check(): Promise<string | undefined> {
  const child = spawn('npm run --silent check 2>&1', { shell: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return code === 0 ? undefined : printed
}
