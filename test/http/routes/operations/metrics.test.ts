import assert from 'node:assert/strict'
import { generateApiKey } from '../../../../src/security/api-key-secret.ts'
import { statement } from '../../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import {
  forgotPassword,
  login,
  logout,
  newEmail,
  PASSWORD,
  refresh,
  register,
  resetPassword,
  verify,
} from '../../../support/http/requests.ts'

const BAN = statement('update users set banned = true where id = $1')
const METERED = { env: { METRICS_ENABLED: 'true' } }

/** Returns every series with its value. */
async function scrape({ app }: TestApp): Promise<Map<string, number>> {
  const response = await app.inject('/metrics')
  assert.equal(response.statusCode, 200)
  const lines = response.body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

const RECORD_OUTAGE = statement("update outbox set attempts = 1, last_error = 'away: no answer' where kind = 'reset'")

test('404: /metrics does not exist unless METRICS_ENABLED is true', async (t) => {
  for (const env of [{}, { METRICS_ENABLED: 'false' }]) {
    const { app } = await startApp(t, { env })
    refused(await app.inject('/metrics'), 404, 'Not Found')
  }
})

test('200: /metrics returns Prometheus text with every name and type of the specification', async (t) => {
  const { app } = await startApp(t, { env: { METRICS_ENABLED: 'yes', API_TITLE: 'My API 2.0' } })
  await app.inject('/ready')
  const response = await app.inject('/metrics')
  assert.equal(response.statusCode, 200)
  assert.match(response.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
  const types: Record<string, string> = {
    http_requests_total: 'counter',
    http_request_duration_highr_seconds: 'histogram',
    http_requests_inprogress: 'gauge',
    http_request_size_bytes: 'summary',
    http_response_size_bytes: 'summary',
    auth_failures_total: 'counter',
    api_key_validations_total: 'counter',
    login_attempts_total: 'counter',
  }
  for (const [name, type] of Object.entries(types)) assert.ok(response.body.includes(`# TYPE my_api_2_0_${name} ${type}\n`), name)
  for (const bound of ['0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '+Inf']) {
    assert.ok(response.body.includes(`my_api_2_0_http_request_duration_highr_seconds_bucket{le="${bound}"}`), bound)
  }
})

test('requests are counted by route, method and status class, except /heartbeat and /metrics', async (t) => {
  const service = await startApp(t, METERED)
  const { app } = service
  for (const url of ['/heartbeat', '/metrics', '/ready', '/ready/', '/api/v1/ready']) await app.inject(url)
  await app.inject(login({ email: 'nobody' }))
  await app.inject(logout({}))
  for (const url of ['/nothing', '/no/thing/at/all', '/%zz']) await app.inject(url)
  await app.inject({ method: 'DELETE', url: '/login/' })
  await app.inject({ method: 'PROPFIND', url: '/nothing' })
  const series = await scrape(service)
  const requests = [...series].filter(([name]) => name.startsWith('latchkey_http_requests_total'))
  assert.deepEqual(Object.fromEntries(requests), {
    'latchkey_http_requests_total{handler="/ready",method="GET",status="2xx"}': 3,
    'latchkey_http_requests_total{handler="/login/",method="POST",status="4xx"}': 1,
    'latchkey_http_requests_total{handler="/logout/",method="POST",status="4xx"}': 1,
    'latchkey_http_requests_total{handler="none",method="GET",status="4xx"}': 2,
    'latchkey_http_requests_total{handler="none",method="DELETE",status="4xx"}': 1,
    'latchkey_http_requests_total{handler="none",method="OTHER",status="4xx"}': 1,
  })
  assert.equal(series.get('latchkey_http_requests_inprogress'), 0)
  assert.equal(series.get('latchkey_http_request_duration_highr_seconds_count'), 9)
  assert.equal(series.get('latchkey_http_request_size_bytes_count{handler="/login/"}'), 1)
  assert.equal(
    series.get('latchkey_http_request_size_bytes_sum{handler="/login/"}'),
    JSON.stringify({ password: PASSWORD, email: 'nobody' }).length,
  )
  assert.equal(series.get('latchkey_http_response_size_bytes_sum{handler="/ready"}'), 3 * '{"status":"ok"}'.length)
})

test('sizes are measured on the connection, not taken from headers', async (t) => {
  const service = await startApp(t, METERED)
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const boss = await admin(service)
  const body = JSON.stringify({ refresh: 'x' })
  const chunked = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body))
      controller.close()
    },
  })
  const headers = { 'content-type': 'application/json' }
  const refused = await (await fetch(`${url}/refresh/`, { method: 'POST', headers, body: chunked, duplex: 'half' })).text()
  await (await fetch(`${url}/refresh/`, { method: 'POST', headers, body: 'x'.repeat(70_000) })).text()
  const list = await (await fetch(`${url}/users/`, { headers: boss.headers })).text()
  const series = await scrape(service)
  assert.equal(series.get('latchkey_http_request_size_bytes_sum{handler="/refresh/"}'), body.length)
  assert.equal(
    series.get('latchkey_http_response_size_bytes_sum{handler="/refresh/"}'),
    refused.length + JSON.stringify({ detail: 'Request body is too large' }).length,
  )
  assert.equal(series.get('latchkey_http_response_size_bytes_sum{handler="/users/"}'), list.length)
})

test('unknown paths and methods add no series', async (t) => {
  const service = await startApp(t, METERED)
  await service.app.inject('/first')
  const before = (await scrape(service)).size
  for (let index = 0; index < 50; index++) await service.app.inject(`/unknown-${index}`)
  await service.app.inject({ method: 'PROPFIND', url: '/unknown' })
  const withOther = (await scrape(service)).size
  assert.ok(withOther > before, 'all unknown methods share one series')
  for (const method of ['MKCOL', 'REPORT', 'LOCK'] as const) await service.app.inject({ method: method as 'GET', url: '/unknown' })
  assert.equal((await scrape(service)).size, withOther)
})

test('logins are counted by outcome, and an unknown address counts as a wrong password', async (t) => {
  const service = await startApp(t, METERED)
  const mia = await member(service)
  const unverified = await member(service, { verified: false })
  const banned = await member(service)
  await service.db.run(BAN, banned.id)
  await service.app.inject(login({ email: mia.email }))
  await service.app.inject(login({ email: mia.email, password: 'wrong password' }))
  await service.app.inject(login({ email: newEmail() }))
  await service.app.inject(login({ email: unverified.email }))
  await service.app.inject(login({ email: banned.email }))
  const series = await scrape(service)
  const counts = ['success', 'invalid_password', 'not_verified', 'banned'].map((status) =>
    series.get(`latchkey_login_attempts_total{status="${status}"}`),
  )
  assert.deepEqual(counts, [1, 2, 1, 1])
})

test('refused tokens and keys are counted by kind and reason', async (t) => {
  const service = await startApp(t, METERED)
  const { app, db, services, clock } = service
  const mia = await member(service)
  const unverified = await member(service, { verified: false })
  const banned = await member(service)
  await db.run(BAN, banned.id)
  const gone = services.tokens.forMail('reset', 4711, 1)
  for (const request of [
    logout({ authorization: 'Bearer x' }),
    logout(unverified.headers),
    logout(banned.headers),
    refresh('x'),
    refresh(banned.refresh),
    verify(services.tokens.forMail('verify', mia.id, mia.emailVersion)),
    verify(services.tokens.forMail('verify', 4711, 1)),
    resetPassword({ code: gone }),
    resetPassword({ code: services.tokens.forMail('reset', banned.id, banned.resetVersion) }),
    logout({ 'x-api-key': 'x' }),
    logout({ 'x-api-key': generateApiKey('lk') }),
  ]) {
    assert.ok((await app.inject(request)).statusCode >= 401)
  }
  const expiring = await keyHolder(service, mia, { expiresAt: clock.now() + 1 })
  clock.advance({ minutes: 121 })
  await app.inject(logout(mia.headers))
  await app.inject(logout(expiring.headers))
  const failures = [...(await scrape(service))].filter(([name, value]) => /auth_failures|key_validations/.test(name) && value > 0)
  assert.deepEqual(Object.fromEntries(failures), {
    'latchkey_auth_failures_total{method="jwt",reason="invalid_token"}': 1,
    'latchkey_auth_failures_total{method="jwt",reason="expired_token"}': 1,
    'latchkey_auth_failures_total{method="jwt",reason="banned_user"}': 1,
    'latchkey_auth_failures_total{method="jwt",reason="unverified_user"}': 1,
    'latchkey_auth_failures_total{method="refresh_token",reason="invalid_token"}': 1,
    'latchkey_auth_failures_total{method="refresh_token",reason="banned_user"}': 1,
    'latchkey_auth_failures_total{method="verify_email",reason="user_not_found"}': 1,
    'latchkey_auth_failures_total{method="verify_email",reason="already_verified"}': 1,
    'latchkey_auth_failures_total{method="password_reset",reason="user_not_found"}': 1,
    'latchkey_auth_failures_total{method="password_reset",reason="banned_user"}': 1,
    'latchkey_api_key_validations_total{status="invalid_format"}': 1,
    'latchkey_api_key_validations_total{status="not_found"}': 1,
    'latchkey_api_key_validations_total{status="expired"}': 1,
  })
})

test('the outbox, the password queue, the event loop and the database have metrics, also during a database outage', async (t) => {
  const service = await startApp(t, METERED)
  await service.app.inject(register({}))
  service.clock.advance({ seconds: 90 })
  await service.app.inject(forgotPassword(newEmail()))
  const quiet = await scrape(service)
  // A mail that only waits for its turn is not counted: it would reveal that the address has an account.
  assert.deepEqual([quiet.get('latchkey_outbox_depth'), quiet.get('latchkey_outbox_oldest_age_seconds')], [0, 0])
  await service.db.run(RECORD_OUTAGE)
  service.clock.advance({ seconds: 10 })
  const series = await scrape(service)
  assert.deepEqual([series.get('latchkey_outbox_depth'), series.get('latchkey_outbox_oldest_age_seconds')], [1, 100])
  assert.equal(series.get('latchkey_password_queue_length'), 0)
  assert.match(
    String(series.get('latchkey_event_loop_lag_p99_seconds')),
    /^\d+(\.\d{1,2})?$/,
    'rounded, so that it does not reveal that a mail was sent',
  )
  assert.deepEqual(
    [...series.keys()].filter((name) => name.includes('cpu')),
    [],
    'processor time would reveal that a mail was sent',
  )
  assert.equal(series.get('latchkey_database_errors_total'), 0)
  await service.db.close()
  service.clock.advance({ seconds: 10 })
  await service.app.inject(forgotPassword(newEmail()))
  const after = await scrape(service)
  // One for the request, and one for the outbox, which the metrics read themselves.
  assert.equal(after.get('latchkey_database_errors_total'), 2)
  assert.equal(after.get('latchkey_outbox_depth'), undefined)
})
