import type { TestContext } from 'node:test'
import { eventually } from '../app/eventually.ts'
import { TEST_SECRET } from '../app/start-app.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { startMain } from './main-process.ts'

export type ServiceProcess = Awaited<ReturnType<typeof startProcess>>

/** Starts the real service in its own process, in a temporary folder, on a free port. It is killed when the test ends. */
export async function startProcess(t: TestContext, env: Readonly<Record<string, string>> = {}, folder = temporaryFolder(t)) {
  const { url, child, stdout, stderr } = await startMain(t, { cwd: folder, env: { SECRET_KEY: TEST_SECRET, ...env } })
  /** The output of both streams so far. */
  return { url, process: child, output: () => stdout() + stderr() }
}

/** Waits until the output matches, and returns the last match. */
export async function untilPrinted({ process: child, output }: ServiceProcess, pattern: RegExp, deadlineMs?: number): Promise<string> {
  const everywhere = new RegExp(pattern.source, `${pattern.flags}g`)
  const findLast = async () => {
    const last = [...output().matchAll(everywhere)].at(-1)?.[0]
    if (last === undefined && child.exitCode !== null) throw new Error(`the service ended before it printed ${pattern}: ${output()}`)
    return last
  }
  return eventually(`the service prints ${pattern}`, findLast, deadlineMs)
}

/** The link to the form for the first admin that the start has printed, by the address of the test; undefined if there is none. */
export function firstAdminUrl({ url, output }: ServiceProcess): string | undefined {
  const printed = /http:\/\/localhost:\d+(\/console\/first-admin\?token=\S+)\n/.exec(output())
  return printed ? `${url}${printed[1]}` : undefined
}

/** The address of the kept mails, with the token that the start has printed. */
export function devMailUrl({ output }: ServiceProcess): string {
  return /http\S+\/dev\/mail\?token=\S+/.exec(output())?.[0] ?? ''
}
