import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import { SECRET_KEY } from './contenders.ts'
import type { Figure, Report, Section } from './figures.ts'
import { personOf } from './people.ts'
import { processorMs } from './process.ts'

// The same flags as `npm run latchkey`.
const COMMAND = [
  '--import',
  new URL('../src/process/compile-cache.js', import.meta.url).href,
  fileURLToPath(new URL('../src/cli/latchkey.ts', import.meta.url)),
]
const FIRST_CREATION = Date.UTC(2020, 0, 1)
const SAMPLE_MS = 100

type Measured = { readonly seconds: number; readonly processorSeconds: number; readonly peakMb: number }

/** Imports users with the password hashes of another system into an empty database, and checks the counts. */
export async function measureImport(folder: string, report: Report, users = 500_000): Promise<Section> {
  const file = join(folder, 'import.jsonl')
  report(`import: writing a file with ${users} users`)
  await writeUsers(file, users)
  const postgres = await startPostgres()
  const figures: Figure[] = []
  try {
    for (const [name, url] of [
      ['SQLite', `sqlite:${join(folder, 'import.db')}`],
      ['PostgreSQL', postgres.url],
    ] as const) {
      report(`import: ${name}`)
      figures.push(...figuresOf(name, users, await runImport(folder, file, url, users)))
    }
  } finally {
    await postgres.stop()
  }
  const how = `latchkey user import of ${users.toLocaleString('en')} users with bcrypt hashes into an empty database, from the start of the process to its end. PostgreSQL runs on the same machine, with default settings.`
  return { title: 'Import', how, figures }
}

function figuresOf(name: string, users: number, { seconds, processorSeconds, peakMb }: Measured): Figure[] {
  return [
    { name: `users imported, ${name}`, value: users / seconds, unit: '1/s', atLeast: 10_000 },
    { name: `processor time of the import per 100,000 users, ${name}`, value: (processorSeconds * 100_000) / users, unit: 's', atMost: 8 },
    { name: `highest memory of the import, ${name}`, value: peakMb, unit: 'MB', atMost: 250 },
  ]
}

async function runImport(folder: string, file: string, databaseUrl: string, users: number): Promise<Measured> {
  const begunAt = performance.now()
  const child = spawn(process.execPath, [...COMMAND, 'user', 'import', file, '--from', 'latchkey', '--json'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', SECRET_KEY, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const output = text(child.stdout)
  const ended = once(child, 'close')
  let [processorTimeMs, peakMb] = [Number.NaN, Number.NaN]
  while (child.exitCode === null) {
    processorTimeMs = processorMs(child.pid ?? 0) ?? processorTimeMs
    peakMb = peakMemoryMb(child.pid ?? 0) ?? peakMb
    await Promise.race([ended, sleep(SAMPLE_MS)])
  }
  const seconds = (performance.now() - begunAt) / 1000
  const { created } = JSON.parse(await output) as { created: number }
  if (created !== users) throw new Error(`the import created ${created} of ${users} users`)
  return { seconds, processorSeconds: processorTimeMs / 1000, peakMb }
}

function peakMemoryMb(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}

async function writeUsers(file: string, users: number): Promise<void> {
  const stream = createWriteStream(file)
  for (let number = 1; number <= users; number++) {
    const { email, firstName, lastName } = personOf(number)
    const user = {
      email,
      first_name: firstName,
      last_name: lastName,
      verified: number % 3 !== 0,
      created_at: new Date(FIRST_CREATION + number * 1000).toISOString(),
      // Of the right shape: nobody logs in.
      password_hash: `$2b$10$${number.toString(36).padStart(53, 'A')}`,
    }
    if (!stream.write(`${JSON.stringify(user)}\n`)) await once(stream, 'drain')
  }
  stream.end()
  await finished(stream)
}
