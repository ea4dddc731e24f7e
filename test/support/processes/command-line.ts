import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { TEST_SECRET } from '../app/start-app.ts'
import { type DatabaseKind, freshDatabase, temporaryFolder } from '../databases/databases.ts'
import { type Finished, LATCHKEY, runNode } from './processes.ts'

export type CommandLine = {
  run(args: readonly string[], input?: string, settings?: Readonly<Record<string, string>>): Promise<Finished>
  database(): Promise<Database>
}

/** The latchkey command on a fresh database. */
export async function commandLine(t: TestContext & { database: DatabaseKind }): Promise<CommandLine> {
  const target = await freshDatabase(t, t.database)
  const env = { SECRET_KEY: TEST_SECRET, DATABASE_URL: target.kind === 'sqlite' ? `sqlite:${target.file}` : target.url }
  const cwd = temporaryFolder(t)
  return {
    run: (args, input = '', settings = {}) => runNode(t, LATCHKEY, args, { cwd, env: { ...env, ...settings }, input }),
    async database() {
      await migrate(target)
      const db = await openDatabase(target)
      t.after(() => db.close())
      return db
    },
  }
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
