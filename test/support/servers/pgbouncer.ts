import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import postgres from 'postgres'
import { until } from '../app/eventually.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { SERVER_ACCOUNT } from '../databases/postgres-server.ts'
import { freePort } from './free-port.ts'
import { adapted } from './front-proxies.ts'

export type PgBouncer = {
  readonly port: number
  /** Runs a command of its admin console, such as `PAUSE`. */
  command(text: string): Promise<readonly Record<string, unknown>[]>
  /** Replaces the server behind it, without a restart. */
  pointTo(serverPort: number): Promise<void>
  /** Kills it, as a crash would. */
  kill(): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
}

const PATH = `${process.env['PATH']}:/usr/sbin`
const START_DEADLINE_MS = 60_000

export const HAS_PGBOUNCER = spawnSync('pgbouncer', ['--version'], { env: { ...process.env, PATH } }).status === 0

/** Starts PgBouncer with deploy/pgbouncer.ini, but with two connections to its server. It stops when the test ends. */
export async function startPgBouncer(t: TestContext, serverPort: number): Promise<PgBouncer> {
  const folder = temporaryFolder(t)
  const [port, file] = [await freePort(), join(folder, 'pgbouncer.ini')]
  const configure = (toPort: number) => writeFileSync(file, configuration(port, toPort))
  configure(serverPort)
  // PgBouncer refuses to run as root.
  if (SERVER_ACCOUNT) for (const path of [folder, file]) chownSync(path, SERVER_ACCOUNT.uid, SERVER_ACCOUNT.gid)
  let child = launch()
  let output = ''
  t.after(() => child.kill('SIGKILL'))
  await untilReady()

  function launch(): ChildProcess {
    const started = spawn('pgbouncer', [file], { ...SERVER_ACCOUNT, cwd: folder, env: { ...process.env, PATH } })
    for (const stream of [started.stdout, started.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    return started
  }

  async function command(text: string): Promise<readonly Record<string, unknown>[]> {
    const url = `postgres://postgres@127.0.0.1:${port}/pgbouncer`
    const sql = postgres(url, { max: 1, fetch_types: false, prepare: false, onnotice: () => undefined })
    try {
      return await sql.unsafe(text).simple()
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  async function untilReady(): Promise<void> {
    await until(
      'PgBouncer answers',
      async () => {
        if (child.exitCode !== null) throw new Error(`pgbouncer exited: ${output}`)
        return command('SHOW VERSION').then(
          () => true,
          () => false,
        )
      },
      START_DEADLINE_MS,
    )
  }

  return {
    port,
    command,
    async pointTo(otherPort) {
      configure(otherPort)
      await command('RELOAD')
      await command('RECONNECT')
    },
    async kill() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
    async start() {
      child = launch()
      await untilReady()
    },
  }
}

function configuration(port: number, serverPort: number): string {
  return adapted('pgbouncer.ini', {
    'latchkey = host=10.0.0.21 port=5432 dbname=latchkey': `postgres = host=127.0.0.1 port=${serverPort} dbname=postgres user=postgres`,
    'listen_port = 6432': `listen_port = ${port}`,
    'auth_type = scram-sha-256': 'auth_type = any',
    'auth_file = /etc/pgbouncer/userlist.txt': 'admin_users = postgres\nunix_socket_dir =',
    'default_pool_size = 10': 'default_pool_size = 2',
  })
}
