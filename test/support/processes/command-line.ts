import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { run } from '../../../src/cli/latchkey.ts'
import type { Database } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { TEST_SECRET } from '../app/start-app.ts'
import { type DatabaseKind, freshDatabase, migrateFresh, temporaryFolder } from '../databases/databases.ts'
import { type Finished, LATCHKEY, type ProcessOptions, runNode } from './processes.ts'

export type CommandLine = Awaited<ReturnType<typeof commandLine>>

/** The latchkey command on a fresh database. A command that occupies its event loop for seconds needs its own process. */
export async function commandLine(
  t: TestContext & { database: DatabaseKind },
  { isOwnProcess = false }: { readonly isOwnProcess?: boolean } = {},
) {
  const target = await freshDatabase(t, t.database)
  const env = { SECRET_KEY: TEST_SECRET, DATABASE_URL: target.setting }
  const cwd = temporaryFolder(t)
  return {
    run(args: readonly string[], input = '', settings: Readonly<Record<string, string>> = {}): Promise<Finished> {
      const options = { cwd, env: { ...env, ...settings }, input }
      return isOwnProcess ? runNode(t, LATCHKEY, args, options) : runLatchkey(args, options)
    },
    async database(): Promise<Database> {
      await migrateFresh(target)
      const db = await openDatabase(target)
      t.after(() => db.close())
      return db
    },
  }
}

type Surroundings = Pick<NodeJS.Process, 'env' | 'stdin' | 'stdout' | 'stderr'>

const REPLACED = ['env', 'stdin', 'stdout', 'stderr'] as const
const surroundings = new AsyncLocalStorage<Surroundings>()
const HOME = process.cwd()
const folders: string[] = []

/**
 * Runs latchkey in the process of the test, which takes a tenth of the time of its own process. Only the command sees the environment and
 * the streams of this call; the folder is that of the whole process, so that commands which run at once have the same one.
 */
export async function runLatchkey(args: readonly string[], { cwd, env = {}, input = '' }: ProcessOptions): Promise<Finished> {
  for (const name of REPLACED) replace(name)
  if (folders.length > 0) assert.equal(cwd, folders[0], 'commands that run at once run in one folder')
  folders.push(cwd)
  process.chdir(cwd)
  const written = { stdout: '', stderr: '' }
  const into = (name: 'stdout' | 'stderr') =>
    new Writable({
      decodeStrings: false,
      write: (text, _encoding, wrote) => {
        written[name] += text
        wrote()
      },
    })
  const streams = { stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]), stdout: into('stdout'), stderr: into('stderr') }
  try {
    // The command sets an exit code of its own, or returns one.
    process.exitCode = undefined
    const returned = await surroundings.run(
      { env: { PATH: process.env['PATH'], ...env }, ...(streams as unknown as Omit<Surroundings, 'env'>) },
      () => run(args),
    )
    return { code: returned || Number(process.exitCode ?? 0), signal: null, ...written }
  } finally {
    process.exitCode = undefined
    folders.pop()
    if (folders.length === 0) process.chdir(HOME)
  }
}

/** Gives a part of `process` the value of the command that reads it, and everyone else the true one. */
function replace(name: (typeof REPLACED)[number]): void {
  const { get: read = () => value, value } = Object.getOwnPropertyDescriptor(process, name) ?? {}
  if (read.name === 'replaced') return
  const replaced = () => surroundings.getStore()?.[name] ?? read.call(process)
  Object.defineProperty(process, name, { get: replaced, configurable: true, enumerable: true })
}

export function done(finished: Finished, stdout: string): void {
  assert.deepEqual(finished, { code: 0, signal: null, stdout, stderr: '' })
}

export function refusedWith(finished: Finished, code: number, ...lines: string[]): void {
  const stderr = lines.map((line) => `latchkey: ${line}\n`).join('')
  assert.deepEqual(finished, { code, signal: null, stdout: '', stderr })
}

/** Asserts that a command succeeded, and returns the JSON that it printed. */
export function json({ code, stdout, stderr }: Finished): unknown {
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  return JSON.parse(stdout)
}
