import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { until } from '../../support/eventually.ts'
import { startProcess } from '../../support/service-process.ts'
import { startSmtpPeer } from '../../support/smtp-peer.ts'
import { missing } from '../../support/suffering.ts'
import { startTraffic, tally } from '../../support/traffic.ts'
import { startCluster } from './cluster.ts'

test('503: the primary of a Patroni cluster is killed under load; the service finds the new one by itself and has lost nothing', async (t) => {
  const cluster = await startCluster(t)
  const peer = await startSmtpPeer(t)
  const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const service = await startProcess(t, {
    DATABASE_URL: `postgres://postgres:postgres@${hosts}/postgres?target_session_attrs=read-write`,
    SMTP_URL: peer.url,
    LOG_LEVEL: 'warn',
  })
  const traffic = startTraffic(t, service.url)
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
  const refused = traffic.answers.filter(({ status }) => status === 503)
  const others = traffic.answers.filter(({ status }) => ![200, 201, 401, 503].includes(status))
  assert.deepEqual(others, [])
  assert.deepEqual(
    traffic.answers.filter(({ what, status }) => what === 'GET /heartbeat' && status !== 200),
    [],
  )
  const sql = postgres(`postgres://postgres:postgres@127.0.0.1:${primary.port}/postgres`, { max: 1 })
  const found = (await sql<{ email: string }[]>`select email from users`).map(({ email }) => email)
  await sql.end()
  const lost = missing(found, traffic.registered)
  assert.deepEqual(lost, [])
  const slowest = Math.max(...refused.map(({ tookMs }) => tookMs))
  t.diagnostic(
    `writes were refused for ${(servingAfterMs / 1000).toFixed(1)} s; ${traffic.answers.length} requests (${tally(traffic.answers)}), slowest refusal ${Math.round(slowest)} ms; ` +
      `${traffic.registered.length} acknowledged registrations (${acknowledgedBefore} before), ${lost.length} lost`,
  )
})
