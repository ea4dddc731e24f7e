import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { assertResponses, missing, slowest, startControlService } from '../../support/load/outage.ts'
import { startTraffic, tally } from '../../support/load/traffic.ts'
import { startProcess } from '../../support/processes/service-process.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { startSmtpPeer } from '../../support/servers/smtp-peer.ts'
import { type Cluster, startCluster } from './cluster.ts'

const RUNNING = fileURLToPath(new URL('../../../docs/running.md', import.meta.url))

/** Kills the primary under load. Counts refused requests until the other node serves, and lost writes. */
async function failOver(t: TestContext, cluster: Cluster, address: string): Promise<void> {
  const peer = await startSmtpPeer(t)
  const service = await startProcess(t, {
    DATABASE_URL: `postgres://postgres:postgres@${address}`,
    SMTP_URL: peer.url,
    LOG_LEVEL: 'warn',
  })
  const control = await startControlService(t)
  const traffic = startTraffic(t, service.url)
  await until('a registration before the failover', () => traffic.registered.length > 0, 30_000)
  await sleep(5000)
  const old = await cluster.primary()
  assert.ok(old)
  cluster.kill(old)
  const killedAt = performance.now()
  const acknowledgedBefore = traffic.registered.length
  await until(
    'a registration after the failover',
    () => traffic.answers.some(({ status, atMs }) => status === 201 && atMs > killedAt + 1000),
    120_000,
  )
  const servingAfterMs = performance.now() - killedAt
  const primary = await cluster.primary()
  assert.ok(primary && primary !== old)
  await sleep(5000)
  await traffic.stop()
  assert.equal(service.process.exitCode, null)
  assertResponses(traffic.answers, await control.slowestMs())
  const sql = postgres(`postgres://postgres:postgres@127.0.0.1:${primary.port}/postgres`, { max: 1 })
  const found = (await sql<{ email: string }[]>`select email from users`).map(({ email }) => email)
  await sql.end()
  const lost = missing(found, traffic.registered)
  assert.deepEqual(lost, [])
  t.diagnostic(
    `writes were refused for ${(servingAfterMs / 1000).toFixed(1)} s; ${traffic.answers.length} requests (${tally(traffic.answers)}), ${slowest(traffic.answers)}; ` +
      `${traffic.registered.length} acknowledged registrations (${acknowledgedBefore} before), ${lost.length} lost`,
  )
}

test('503: the primary of a Patroni cluster is killed under load; the service finds the new one without a restart and loses nothing', async (t) => {
  const cluster = await startCluster(t)
  const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')
  await failOver(t, cluster, `${hosts}/postgres?target_session_attrs=read-write`)
})

test('503: the same with HAProxy in front of the cluster, configured as in docs/running.md', async (t) => {
  if (spawnSync('haproxy', ['-v']).status !== 0) return t.skip('NOT RUN: haproxy is not installed')
  const cluster = await startCluster(t)
  const port = await startHaproxy(t, cluster)
  await failOver(t, cluster, `127.0.0.1:${port}/postgres`)
})

/** Starts HAProxy with the configuration of the documentation; only addresses differ. It stops when the test ends. */
async function startHaproxy(t: TestContext, { nodes }: Cluster): Promise<number> {
  const documented = /```\n( +listen postgres\n[^`]+)```/.exec(readFileSync(RUNNING, 'utf8'))?.[1] ?? ''
  const [one, two] = nodes
  assert.ok(one && two)
  const port = await freePort()
  const addresses = {
    'bind 127.0.0.1:5432': `bind 127.0.0.1:${port}`,
    'db1:5432 check port 8008': `127.0.0.1:${one.port} check port ${one.apiPort}`,
    'db2:5432 check port 8008': `127.0.0.1:${two.port} check port ${two.apiPort}`,
  }
  let text = documented
  for (const [from, to] of Object.entries(addresses)) {
    assert.ok(text.includes(from), from)
    text = text.replace(from, to)
  }
  const file = join(temporaryFolder(t), 'haproxy.cfg')
  writeFileSync(file, `${text.trimEnd()}\n`)
  const proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  t.after(() => proxy.kill('SIGKILL'))
  const sql = postgres(`postgres://postgres:postgres@127.0.0.1:${port}/postgres`, { max: 1, connect_timeout: 1 })
  await until('HAProxy has found the primary', () => sql`select 1`.then(Boolean, () => false), 30_000)
  await sql.end()
  return port
}
