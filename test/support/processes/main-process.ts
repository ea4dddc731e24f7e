import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, type TestContext } from 'node:test'
import { until } from '../app/eventually.ts'
import { PASSWORD } from '../http/requests.ts'
import { type Finished, MAIN, type ProcessOptions, startNode } from './processes.ts'

export type MainProcess = Awaited<ReturnType<typeof startMain>>

const SAY_DEADLINE_MS = 120_000

// Checked after all tests of a file, because a hook of a test that throws prevents the cleanup of later hooks.
const outputs: (() => string[])[] = []
after(() => {
  const secrets = outputs.flatMap((secretsOf) => secretsOf())
  assert.deepEqual(secrets, [], 'secrets in the output of a service')
})

/** Secrets that no service started by a test may print. Without a mail server it prints the links of its mails, which are excluded. */
function secretsIn(output: string, env: ProcessOptions['env'] = {}): string[] {
  const formers = env['SECRET_KEY_FALLBACKS'] ? env['SECRET_KEY_FALLBACKS'].split(',') : []
  const given = [PASSWORD, env['SECRET_KEY'], ...formers, env['ADMIN_PASSWORD'], env['WEBHOOK_SECRET']]
  const made = env['SMTP_URL'] === undefined ? [] : (output.match(/eyJ[\w-]+\.[\w-]+\.[\w-]+|lk_[\w-]{40,}/g) ?? [])
  return [...given.filter((secret) => secret !== undefined && output.includes(secret)), ...made].map(String)
}

/** Starts the real service in its own process on a free port. */
export async function startMain(t: TestContext, options: ProcessOptions & { script?: string; args?: readonly string[] }) {
  const child = startNode(t, options.script ?? MAIN, options.args ?? [], { ...options, env: { PORT: '0', ...options.env } })
  const said = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  outputs.push(() => secretsIn(said.stdout + said.stderr, options.env))
  /** Resolves when the process exits. */
  const ended = once(child, 'close').then(([code, signal]): Finished => ({ code, signal, ...said }))

  /** Waits until the output matches. */
  async function untilSaid(words: RegExp): Promise<void> {
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    const isSaid = () => words.test(said.stdout)
    const reason = await until(`the service says ${words}`, () => isSaid() || isOver, SAY_DEADLINE_MS).catch(String)
    if (!isSaid()) throw new Error(`${reason ?? `the service ended before it said ${words}`}: ${said.stdout}${said.stderr}`)
  }

  await untilSaid(/listens on \S+\n/)
  const url = /listens on (\S+)/.exec(said.stdout)?.[1] ?? ''
  const port = Number(new URL(url).port)
  return { child, url, port, stdout: () => said.stdout, stderr: () => said.stderr, untilSaid, ended }
}
