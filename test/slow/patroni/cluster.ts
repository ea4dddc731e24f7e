import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until } from '../../support/app/eventually.ts'
import { newFolder } from '../../support/databases/run-folder.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { adapted } from '../../support/servers/front-proxies.ts'

export type Node = {
  readonly name: string
  readonly port: number
  readonly apiPort: number
  readonly folder: string
  patroni: ChildProcess
}

export type Cluster = {
  readonly nodes: readonly Node[]
  /** The current primary, if there is one. */
  primary(): Promise<Node | undefined>
  /** Kills the agent and the server of a node, like a power failure. */
  kill(node: Node): void
  /** Starts a killed node again, and waits until it follows the primary. */
  restart(node: Node): Promise<void>
}

// Neither PostgreSQL nor its agent runs as root.
type Account = { readonly uid: number; readonly gid: number } | undefined
const NOBODY = { uid: 65_534, gid: 65_534 }
const START_DEADLINE_MS = 90_000

/** Patroni with etcd and two PostgreSQL nodes, one replicating the other, on this machine. It stops when the test ends. */
export async function startCluster(t: TestContext): Promise<Cluster> {
  const account: Account = process.getuid?.() === 0 ? NOBODY : undefined
  const folder = newFolder('patroni')
  if (account) chownSync(folder, account.uid, account.gid)
  const [clientPort, peerPort] = [await freePort(), await freePort()]
  const client = `http://127.0.0.1:${clientPort}`
  const peer = `http://127.0.0.1:${peerPort}`
  const etcd = spawn(
    'etcd',
    [
      '--data-dir',
      join(folder, 'etcd'),
      '--listen-client-urls',
      client,
      '--advertise-client-urls',
      client,
      '--listen-peer-urls',
      peer,
    ].concat(['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`]),
    { ...account, cwd: folder, stdio: 'ignore', env: { ...process.env, ETCD_UNSUPPORTED_ARCH: 'arm64', HOME: folder } },
  )
  const nodes: Node[] = []
  t.after(() => {
    for (const node of nodes) killNode(node)
    etcd.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  for (const name of ['one', 'two']) {
    nodes.push(await startNode(folder, name, clientPort, account))
    await until(`node ${name} runs`, () => isRunning(nodes.at(-1)), START_DEADLINE_MS)
  }
  const untilFollowing = () => until('the standby follows', async () => (await rolesOf(nodes)).includes('sync_standby'), START_DEADLINE_MS)
  await untilFollowing()
  return {
    nodes,
    kill: killNode,
    async restart(node) {
      node.patroni = launch(node.folder, account)
      await untilFollowing()
    },
    primary: async () => nodes[(await rolesOf(nodes)).findIndex((role) => role === 'master' || role === 'primary')],
  }
}

async function startNode(parent: string, name: string, etcdPort: number, account: Account): Promise<Node> {
  const folder = join(parent, name)
  mkdirSync(folder, { mode: 0o700 })
  if (account) chownSync(folder, account.uid, account.gid)
  const [port, apiPort] = [await freePort(), await freePort()]
  writeFileSync(join(folder, 'patroni.yml'), settings(folder, name, port, apiPort, etcdPort), { mode: 0o644 })
  return { name, port, apiPort, folder, patroni: launch(folder, account) }
}

function launch(folder: string, account: Account): ChildProcess {
  const log = openSync(join(folder, 'log'), 'a')
  const env = { ...process.env, HOME: folder }
  return spawn('patroni', [join(folder, 'patroni.yml')], { ...account, cwd: folder, stdio: ['ignore', log, log], env })
}

/** deploy/patroni.yml; only addresses, paths and passwords differ. */
function settings(folder: string, name: string, port: number, apiPort: number, etcdPort: number): string {
  return adapted('patroni.yml', {
    'name: one': `name: ${name}`,
    '10.0.0.21:8008': `127.0.0.1:${apiPort}`,
    '10.0.0.31:2379,10.0.0.32:2379,10.0.0.33:2379': `127.0.0.1:${etcdPort}`,
    '10.0.0.0/24 scram-sha-256': '127.0.0.1/32 trust',
    '10.0.0.21:5432': `127.0.0.1:${port}`,
    '/var/lib/postgresql/latchkey': join(folder, 'data'),
    '/usr/lib/postgresql/18/bin': binaries(),
    '/var/lib/postgresql/pgpass': join(folder, 'pgpass'),
    '/var/run/postgresql': folder,
    'change-this-one': 'postgres',
  })
}

function binaries(): string {
  const root = '/usr/lib/postgresql'
  const newest = existsSync(root)
    ? readdirSync(root)
        .sort((a, b) => Number(a) - Number(b))
        .at(-1)
    : undefined
  if (newest === undefined) throw new Error('no PostgreSQL server is installed: apt-get install patroni etcd-server postgresql')
  return join(root, newest, 'bin')
}

async function rolesOf(nodes: readonly Node[]): Promise<string[]> {
  return Promise.all(
    nodes.map(async ({ apiPort }) => {
      try {
        const answer = await fetch(`http://127.0.0.1:${apiPort}/patroni`, { signal: AbortSignal.timeout(2000) })
        const { role, state, sync_standby } = (await answer.json()) as { role: string; state: string; sync_standby?: boolean }
        if (state !== 'running') return state
        return sync_standby ? 'sync_standby' : role
      } catch {
        return 'away'
      }
    }),
  )
}

async function isRunning(node: Node | undefined): Promise<boolean> {
  const [role = 'away'] = node === undefined ? [] : await rolesOf([node])
  return ['master', 'primary', 'replica', 'sync_standby'].includes(role)
}

function killNode({ patroni, folder }: Node): void {
  patroni.kill('SIGKILL')
  const pidFile = join(folder, 'data', 'postmaster.pid')
  if (!existsSync(pidFile)) return
  const postmaster = readFileSync(pidFile, 'utf8').split('\n')[0] ?? ''
  if (!existsSync(`/proc/${postmaster}`)) return
  const backends = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ').filter(Boolean)
  for (const pid of [postmaster, ...backends]) killProcess(Number(pid))
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has exited since it was listed.
  }
}
