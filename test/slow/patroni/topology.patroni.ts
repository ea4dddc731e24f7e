import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { missing, signIn, WITH_MEMBER } from '../../support/load/outage.ts'
import { EXPECTED_STATUSES, startTraffic, type TimedResponse, tally } from '../../support/load/traffic.ts'
import { type ServiceProcess, startProcess } from '../../support/processes/service-process.ts'
import { makeCertificate } from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { adapted } from '../../support/servers/front-proxies.ts'
import { startSmtpPeer } from '../../support/servers/smtp-peer.ts'
import { type Cluster, startCluster } from './cluster.ts'

// The certificate of the proxy is made for this test.
process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
const EVERY_MS = 50
const DEADLINE_MS = 120_000
const SETTLE_MS = 6000

type Topology = {
  readonly cluster: Cluster
  readonly url: string
  readonly member: Readonly<Record<string, string>>
  readonly proxy: ChildProcess
  readonly services: ServiceProcess[]
  startService(port: number): Promise<ServiceProcess>
  emails(): Promise<string[]>
}

/** HAProxy with deploy/haproxy.cfg, two processes of the service, and two nodes with deploy/patroni.yml. Each list names both nodes. */
async function startTopology(t: TestContext): Promise<Topology> {
  const cluster = await startCluster(t)
  const peer = await startSmtpPeer(t)
  const database = `postgres://postgres:postgres@${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres`
  const env = {
    DATABASE_URL: database,
    DATABASE_READ_URL: database,
    SMTP_URL: peer.url,
    TRUST_PROXY: 'true',
    LOG_LEVEL: 'warn',
    ...WITH_MEMBER,
  }
  const startService = (port: number) => startProcess(t, { ...env, PORT: String(port) })
  const services = [await startService(await freePort()), await startService(await freePort())]
  const { proxy, url } = await startProxy(
    t,
    services.map((service) => Number(new URL(service.url).port)),
  )
  async function emails(): Promise<string[]> {
    const primary = await cluster.primary()
    const sql = postgres(`postgres://postgres:postgres@127.0.0.1:${primary?.port}/postgres`, { max: 1 })
    const rows = await sql<{ email: string }[]>`select email from users`
    await sql.end()
    return rows.map(({ email }) => email)
  }
  return { cluster, url, member: await signIn(url), proxy, services, startService, emails }
}

/** In the mode of a system service: a reload replaces the worker and keeps the sockets. */
async function startProxy(t: TestContext, ports: readonly number[]): Promise<{ proxy: ChildProcess; url: string }> {
  const [folder, port, certificate] = [temporaryFolder(t), await freePort(), makeCertificate(t)]
  assert.ok(certificate)
  const [file, pem] = [join(folder, 'haproxy.cfg'), join(folder, 'both.pem')]
  writeFileSync(pem, certificate.cert + certificate.key, { mode: 0o600 })
  const text = adapted('haproxy.cfg', {
    'bind :443': `bind 127.0.0.1:${port}`,
    'bind :::443 v6only': `bind 127.0.0.1:${await freePort()}`,
    '/etc/ssl/accounts.example.com.pem': pem,
    '10.0.0.11:8000': `127.0.0.1:${ports[0]}`,
    '10.0.0.12:8000': `127.0.0.1:${ports[1]}`,
    // The test sends more than twenty passwords.
    'gt 20 }': 'gt 1000000 }',
  })
  writeFileSync(file, text)
  const proxy = spawn('haproxy', ['-W', '-db', '-f', file], { stdio: 'ignore' })
  t.after(() => proxy.kill('SIGTERM'))
  const url = `https://127.0.0.1:${port}`
  await until('HAProxy serves', async () => (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200, DEADLINE_MS)
  return { proxy, url }
}

const isServed = ({ what, status }: TimedResponse) => status === EXPECTED_STATUSES[what]

/** Loses a part under load, and waits until every kind of request is served again. Reports what clients saw. */
async function lose(t: TestContext, { url, member, emails }: Topology, part: () => Promise<void> | void): Promise<TimedResponse[]> {
  const traffic = startTraffic(t, url, EVERY_MS, member)
  const kinds = Object.keys(EXPECTED_STATUSES)
  const servedSince = (since: number) =>
    kinds.every((what) => traffic.answers.some((answer) => answer.what === what && answer.atMs > since && isServed(answer)))
  await until('every kind of request is served', () => servedSince(0), DEADLINE_MS)
  const lostAt = performance.now()
  await part()
  await sleep(SETTLE_MS)
  await until('every kind of request is served again', () => servedSince(performance.now() - SETTLE_MS), DEADLINE_MS)
  await traffic.stop()
  const refused = traffic.answers.filter((answer) => !isServed(answer))
  const lastMs = Math.max(0, ...refused.map(({ atMs, tookMs }) => atMs + tookMs - lostAt))
  assert.deepEqual(missing(await emails(), traffic.registered), [], 'acknowledged registrations are stored')
  t.diagnostic(
    `${traffic.answers.length} requests (${tally(traffic.answers)}); ${refused.length} not served, the last ${(lastMs / 1000).toFixed(1)} s after the loss; ` +
      `${traffic.registered.length} acknowledged registrations, 0 lost`,
  )
  return refused
}

function assertOnly(statuses: readonly number[], refused: readonly TimedResponse[]): void {
  assert.deepEqual(
    refused.filter(({ status }) => !statuses.includes(status)),
    [],
  )
}

test('two service processes, HAProxy and Patroni: each part is lost under load, and nothing that was acknowledged', async (t) => {
  const topology = await startTopology(t)
  const { cluster, services, proxy } = topology

  await t.test('401: nobody changes the configuration of the database without a password', async () => {
    for (const { apiPort } of cluster.nodes) {
      const url = `http://127.0.0.1:${apiPort}`
      assert.equal((await fetch(`${url}/config`, { method: 'PATCH', body: '{"ttl":25}' })).status, 401)
      assert.equal((await fetch(`${url}/restart`, { method: 'POST', body: '{}' })).status, 401)
      assert.equal((await fetch(`${url}/health`)).status, 200)
    }
  })

  // HAProxy answers for a killed process until it has noticed; it closes a connection (0) whose second request was lost, so that the
  // client repeats it. Nothing is lost with a process that stops.
  for (const [title, place, signal, statuses] of [
    ['a service process is killed', 0, 'SIGKILL', [0, 502, 503]],
    ['a service process is stopped', 1, 'SIGTERM', []],
  ] as const)
    await t.test(title, async (step) => {
      const { process: child, url } = services[place] ?? assert.fail()
      const refused = await lose(step, topology, async () => {
        const exited = once(child, 'exit')
        child.kill(signal)
        await exited
      })
      services[place] = await topology.startService(Number(new URL(url).port))
      assertOnly(statuses, refused)
    })

  await t.test('the proxy is reloaded', async (step) => {
    assertOnly([], await lose(step, topology, () => void proxy.kill('SIGUSR2')))
  })

  await t.test('the replica is killed', async (step) => {
    const primary = await cluster.primary()
    const replica = cluster.nodes.find((node) => node !== primary)
    assert.ok(replica)
    const refused = await lose(step, topology, () => cluster.kill(replica))
    await cluster.restart(replica)
    assertOnly([], refused)
  })

  await t.test('the primary is killed', async (step) => {
    const primary = await cluster.primary()
    assert.ok(primary)
    assertOnly([503], await lose(step, topology, () => cluster.kill(primary)))
  })
})
