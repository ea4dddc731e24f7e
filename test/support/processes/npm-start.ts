import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until } from '../app/eventually.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { ROOT } from '../documents.ts'

const START_DEADLINE_MS = 60_000

/** The service as `npm start` runs it, and the process id of the service itself. */
export async function npmStart(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, PORT: '0', DATABASE_URL: `sqlite:${join(temporaryFolder(t), 'latchkey.db')}`, ...settings }
  const npm = spawn('npm', ['start'], { cwd: ROOT, env })
  let printed = ''
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const pidOf = () => Number(/"pid":(\d+),[^\n]*"msg":"listening"/.exec(printed)?.[1])
  await until('the service listens', () => pidOf() > 0 && printed.includes('listens on'), START_DEADLINE_MS)
  const servicePid = pidOf()
  t.after(() => {
    npm.kill('SIGKILL')
    if (isAlive(servicePid)) process.kill(servicePid, 'SIGKILL')
  })
  return { npm, servicePid, output: () => printed }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
