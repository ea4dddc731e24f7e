import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statement } from '../../src/storage/database.ts'
import { until } from '../support/app/eventually.ts'
import { missing, untilServing } from '../support/load/outage.ts'
import { startTraffic } from '../support/load/traffic.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { startBrokenProxy } from '../support/servers/broken-proxy.ts'
import { openSecured, startSecured } from '../support/servers/certificates.ts'

const EMAILS = statement<{ email: string }>('select email from users')

test('503: a TLS connection that is cut or stops responding is replaced, and nothing is lost', async (t) => {
  const secured = await startSecured(t)
  if (secured === undefined) return t.skip('openssl is not installed')
  const proxy = await startBrokenProxy(t, secured.port)
  const query = `sslmode=verify-full&sslrootcert=${encodeURIComponent(secured.certificate.certFile)}`
  const service = await startProcess(t, {
    DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/postgres?${query}`,
    LOG_LEVEL: 'warn',
  })
  const traffic = startTraffic(t, service.url)
  await until('a registration', () => traffic.registered.length > 0)
  for (const passage of ['closed', 'blackhole'] as const) {
    const before = traffic.answers.length
    proxy.set(passage)
    await until('a refusal', () => traffic.answers.slice(before).some(({ status }) => status === 503))
    proxy.set('open')
    assert.ok(Number.isFinite(await untilServing(service.url, performance.now())), `it serves again after it was ${passage}`)
  }
  await traffic.stop()
  assert.equal(service.process.exitCode, null)
  assert.deepEqual(
    traffic.answers.filter(({ status }) => ![200, 201, 401, 503].includes(status)),
    [],
  )
  const found = await openSecured(t, `127.0.0.1:${secured.port}/postgres?${query}`).all(EMAILS)
  assert.deepEqual(
    missing(
      found.map(({ email }) => email),
      traffic.registered,
    ),
    [],
  )
})
